"""How long conversations are kept."""

from typing import Annotated

from pilothouse.types import limits
from pilothouse.types.json import Frozen
from pilothouse.types.setting import Setting

_PART = "Keeping conversations"


class Retention(Frozen, frozen=True):
    """What is removed for good by itself; nothing while nothing is set."""

    days: Annotated[
        int | None,
        Setting(
            part=_PART,
            label="Days",
            note="Conversations that nobody touched for so long are removed.",
            usual="for ever",
            what="How many days are kept",
            least=1,
            most=limits.RETENTION_DAYS,
        ),
    ] = None
    megabytes: Annotated[
        int | None,
        Setting(
            part=_PART,
            label="Megabytes",
            note="The longest untouched are removed until the rest is smaller.",
            usual="any number",
            what="How many megabytes are kept",
            least=1,
            most=limits.RETENTION_MEGABYTES,
        ),
    ] = None


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
