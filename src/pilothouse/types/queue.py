"""The queue of runs that several processes share: its names, and what comes before what."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from pilothouse.types.runs import RunOptions

# What a job asks for: to go on with a conversation.
GO_ON = "go_on"


class Queue(NamedTuple):
    """A queue, and what its jobs come before: higher ones go first."""

    name: str
    priority: int


# What a person waits for, and what nobody watches.
MESSAGES = Queue("messages", 10)
TASKS = Queue("tasks", 0)


# What begins the name of the queue of one process alone.
AT = "at "


def queue_at(process: str) -> str:
    """Return the queue that only one process takes from: for what can be done nowhere else.

    Not by the whole name: PostgreSQL tells of jobs by names of at most 63 letters.
    """
    return f"{AT}{hashlib.sha256(process.encode()).hexdigest()[:16]}"


def queue_of(options: RunOptions) -> Queue:
    """Return where a run waits."""
    return TASKS if options.unattended else MESSAGES


class Runner(Protocol):
    """Executes what is next in conversations."""

    @property
    def slots(self) -> int:
        """Return how many conversations may be at work at once."""

    async def go_on(self, conversation_id: str) -> bool:
        """Execute the next run of a conversation, if one can be claimed; return whether one was."""

    async def tell_waiting(self, line: Sequence[str]) -> None:
        """Tell readers of the conversations in a line how many are executed before."""

    async def drain(self) -> None:
        """Give what is at work the time that the person set, then stop it."""

    async def end(self) -> None:
        """Wait a while for what was stopped; leave behind what does not end."""
