"""What readers of a conversation are sent, and what a writer must prove."""

from __future__ import annotations

from typing import NamedTuple


class FeedEvent(NamedTuple):
    """An event as it goes out: its number (0 for a live one), its kind and its JSON."""

    seq: int
    kind: str
    json: bytes


class Guard(NamedTuple):
    """A run's right to write: the run and the epoch in which this process took it."""

    run_id: str
    epoch: int


class Lagged(Exception):
    """The reader fell too far behind and must take a new snapshot."""
