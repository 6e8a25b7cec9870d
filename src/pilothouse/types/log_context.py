"""What a line of the log is about, known to whoever writes it without being told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class About(NamedTuple):
    """A run and its conversation."""

    conversation: str
    run: str


# What this task, and whatever it starts, is at work on.
at_work_on: ContextVar[About | None] = ContextVar("at_work_on", default=None)


@contextmanager
def working_on(conversation: str, run: str) -> Iterator[None]:
    """Have what is logged meanwhile say what it is about."""
    token = at_work_on.set(About(conversation, run))
    try:
        yield
    finally:
        at_work_on.reset(token)
