"""The visible screen of a terminal, worked out from its output when someone asks for it."""

from __future__ import annotations

from pilothouse.tools.terminal.session import Session
from pilothouse.tools.terminal.text import decode
from pilothouse.types import limits

# A full screen redrawn several times over; what came before has scrolled away.
_RECENT = 128 * 1024


async def screen_of(session: Session) -> str:
    """Return the lines that a person sees in the terminal now, blank ones at the end left out."""
    start = max(session.began.index, session.ring.end - _RECENT)
    pieces, index = [], start
    while index < session.ring.end:
        at, piece = await session.read(index, limits.TERMINAL_PIECE)
        if not piece:
            break
        pieces.append(piece)
        index = at + len(piece)
    return render(decode(b"".join(pieces)), session.window.columns, session.window.rows)


def render(text: str, columns: int, rows: int) -> str:
    """Return what a terminal of this size shows after this output."""
    # Loaded by the few who ask: emulating is far slower than recording.
    import pyte  # noqa: PLC0415

    screen = pyte.Screen(columns, rows)
    stream = pyte.Stream(screen)
    # Otherwise it passes over the sets of characters that lines are drawn with.
    stream.use_utf8 = False
    stream.feed(text)
    return "\n".join(line.rstrip() for line in screen.display).rstrip("\n")
