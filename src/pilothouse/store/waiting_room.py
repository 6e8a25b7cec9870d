"""How many messages may wait for their answer: what is beyond that is not taken, and told so."""

from __future__ import annotations

import sqlalchemy as sa

from pilothouse.store.statements import Statement
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.records import Room

_HERE = Statement(
    "SELECT COUNT(*) FROM (SELECT 1 FROM runs WHERE conversation_id = :id AND status = 'queued' LIMIT :most) AS waiting"
)
_ALL = Statement("SELECT COUNT(*) FROM (SELECT 1 FROM runs WHERE status = 'queued' LIMIT :most) AS waiting")


def check(connection: sa.Connection, conversation_id: str, room: Room) -> None:
    """Raise if no further message may wait, in this conversation or at all."""
    if _HERE.first(connection, {"id": conversation_id, "most": room.here}) >= room.here:
        raise _no_room(room.here, " of this conversation")
    if _ALL.first(connection, {"most": room.everywhere}) >= room.everywhere:
        raise _no_room(room.everywhere)


def _no_room(count: int, whose: str = "") -> PilothouseError:
    seconds = limits.RETRY_AFTER
    waiting = f"1 message{whose} waits for its" if count == 1 else f"{count:,} messages{whose} wait for their"
    return PilothouseError(
        "too_many",
        f"{waiting} answer already, so this one was not taken.",
        fix=f"Send it again in {seconds} seconds or more, when some are answered.",
        retry_after=seconds,
    )
