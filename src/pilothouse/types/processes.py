"""The processes that share a database: what each says of itself."""

from __future__ import annotations

from typing import Literal

import msgspec

from pilothouse.types.json import Frozen

ProcessRole = Literal["server", "web", "worker", "heir", "once"]
# Where programs run that a process's conversations need: here, or at the workers because this one only serves the page,
# or at other workers because this one was told to start none.
ProgramsAt = Literal["here", "workers", "other_workers"]


class ProcessAbout(Frozen, frozen=True):
    """What a process says of itself with each sign of life."""

    role: ProcessRole
    # How many runs it works on at once, and how many it does now.
    slots: int = 0
    at_work: int = 0
    # Whether it starts programs: local MCP servers, commands and terminals.
    programs: bool = True
    host: str = ""
    version: str = ""
    started_at: float = 0.0
    # The conversations whose terminals and background commands run in it.
    terminals: tuple[str, ...] = ()
    # What the queue calls it; a process that takes no jobs has none.
    worker: int | None = None
    # What the database calls its connections.
    connections: str = ""


class ProcessView(Frozen, frozen=True):
    """A process, and when it last gave a sign of life by the clock of who asks; an earlier release says no more."""

    id: str
    seen_at: float
    about: ProcessAbout | None = None


def about_of(text: str | None) -> ProcessAbout | None:
    """Return what a process says of itself; nothing for one of another release whose words we do not know."""
    try:
        return msgspec.json.decode(text, type=ProcessAbout) if text is not None else None
    except msgspec.MsgspecError:
        return None
