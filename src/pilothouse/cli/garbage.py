"""When garbage is looked for: hardly while a command starts, and later not among what its start has made."""

from __future__ import annotations

import gc

# Nothing that importing makes is garbage; a server makes 160,000 objects until it answers, `run` half as many. Looking
# through 50,000 of them takes as long as importing forty modules.
_STARTING = 250_000
_USUAL = 50_000


def begin() -> None:
    """Start a command."""
    gc.set_threshold(_STARTING, 10, 10)


def started() -> None:
    """Say that a command is at work: what it has made so far stays, and is not looked through any more."""
    # Whoever has not begun here is another program's guest, and its garbage is not ours.
    if gc.get_threshold()[0] == _STARTING:
        gc.freeze()
        gc.set_threshold(_USUAL, 10, 10)
