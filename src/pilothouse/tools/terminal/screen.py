"""The visible screen of a terminal, worked out from its output when someone asks for it."""

from __future__ import annotations

import asyncio
import re

import msgspec

from pilothouse.helper.client import Helper, Unreadable
from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.terminal.session import Session
from pilothouse.tools.terminal.text import decode
from pilothouse.types import limits

# A full screen redrawn several times over; what came before has scrolled away.
_RECENT = 128 * 1024
# No screen has so many lines or columns, and a number of thousands of digits is none.
_CONTROL = re.compile("[\x1b\x9b]\\[?[0-9;?]++")
_NUMBER = re.compile(r"\d{5,}+")
# No letter has more marks than these: each is put together with all those before it.
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f]"
_MARKS = re.compile(f"({_MARK}{{8}}){_MARK}++")
# The ways to erase that a terminal knows; our emulator falls over others.
_ERASED = (0, 1, 2, 3)


class Output(msgspec.Struct, frozen=True):
    """What a terminal of a size was sent."""

    text: str
    columns: int
    rows: int


async def screen_of(session: Session, helper: Helper) -> str:
    """Return the lines that a person sees in the terminal now, blank ones at the end left out."""
    start = max(session.began.index, session.ring.end - _RECENT)
    pieces, index = [], start
    while index < session.ring.end:
        at, piece = await session.read(index, limits.TERMINAL_PIECE)
        if not piece:
            break
        pieces.append(piece)
        index = at + len(piece)
    output = Output(decode(b"".join(pieces)), session.window.columns, session.window.rows)
    try:
        # What a command writes may be made to take long: emulating it is the helper process's work.
        return await asyncio.to_thread(helper.ask, render, output, limits.SCREEN_TIME)
    except Unreadable as error:
        raise BadArgument(f"The screen cannot be shown: {error.why}. Read the session's output instead.") from None


def render(output: Output) -> str:
    """Return what a terminal of this size shows after this output."""
    # Loaded by the few who ask: emulating is far slower than recording.
    import pyte  # noqa: PLC0415

    class Screen(pyte.Screen):
        """A screen that passes over what no terminal knows."""

        def erase_in_line(self, how: int = 0, private: bool = False) -> None:
            if how in _ERASED[:3]:
                super().erase_in_line(how, private)

        def erase_in_display(self, how: int = 0, *args: object, **kwargs: object) -> None:
            if how in _ERASED:
                super().erase_in_display(how, *args, **kwargs)

    screen = Screen(output.columns, output.rows)
    stream = pyte.Stream(screen)
    # Otherwise it passes over the sets of characters that lines are drawn with.
    stream.use_utf8 = False
    stream.feed(_CONTROL.sub(lambda sign: _NUMBER.sub("9999", sign[0]), _MARKS.sub(r"\1", output.text)))
    return "\n".join(line.rstrip() for line in screen.display).rstrip("\n")
