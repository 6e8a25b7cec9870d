"""What operators look at: runs by their state, and the processes that work on them."""

from __future__ import annotations

from pilothouse.types.json import Frozen
from pilothouse.types.processes import ProcessAbout
from pilothouse.types.runs import RunStatus


class RunEntry(Frozen, frozen=True):
    """A run in a list: where it is, and since when it is as it is."""

    id: str
    conversation_id: str
    title: str
    status: RunStatus
    created_at: float
    # When its state last changed.
    since: float
    # The process that works on it, while one does.
    process: str | None = None
    # Whether it was asked to stop.
    cancel_requested: bool = False
    branch: int = 0


class RunList(Frozen, frozen=True):
    """Runs of an owner; `next` is the cursor for the rest."""

    runs: tuple[RunEntry, ...]
    next: str | None = None


class ProcessEntry(Frozen, frozen=True):
    """A process in a list: what it says of itself, and when it was last heard of, by the clock of who tells it."""

    id: str
    seen_at: float
    about: ProcessAbout


class ProcessList(Frozen, frozen=True):
    """The processes that share the database, and how much they have to do."""

    processes: tuple[ProcessEntry, ...]
    # How many runs wait for a slot, and how many are at work, of everybody.
    queued: int
    at_work: int
    # When this was told, by the clock of who tells it.
    now: float
