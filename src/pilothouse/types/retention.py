"""How long conversations are kept."""

from __future__ import annotations

from pilothouse.types.json import Frozen


class Retention(Frozen, frozen=True):
    """What is removed for good by itself; nothing while nothing is set."""

    # Conversations that nobody touched for this many days.
    days: int | None = None
    # The longest untouched ones, until what is kept is below this.
    megabytes: int | None = None


class Leaving(Frozen, frozen=True):
    """A conversation that is to be removed."""

    id: str
    title: str
    updated_at: float
    bytes: int


class RetentionView(Frozen, frozen=True):
    """The setting, how much is kept, and what would be removed now."""

    retention: Retention
    conversations: int
    bytes: int
    leaving: tuple[Leaving, ...]
