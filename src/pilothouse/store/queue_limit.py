"""How many messages may wait for their answer: what is beyond that is not taken, and told so."""

from __future__ import annotations

from pilothouse.store import reading, rows
from pilothouse.store.statements import Connection, Statement
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.records import Posting, QueueLimits
from pilothouse.types.runs import Run

# How many wait in a conversation and everywhere, counted no further than it matters.
_WAITING = Statement(
    "SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM runs WHERE conversation_id = :id AND status = 'queued' LIMIT :here) "
    "AS few), (SELECT COUNT(*) FROM (SELECT 1 FROM runs WHERE status = 'queued' LIMIT :everywhere) AS many)"
)


def admit(connection: Connection, posting: Posting) -> list[Run]:
    """Return the runs of its conversation that wait for the person; raise if the message cannot be taken."""
    conversation_id = posting.item.conversation_id
    rows.owned_conversation(connection, posting.run.owner, conversation_id)
    check(connection, conversation_id, posting.queue_limits)
    return reading.runs_in(connection, ("waiting", "interrupted"), conversation_id)


def check(connection: Connection, conversation_id: str, most: QueueLimits) -> None:
    """Raise if no further message may wait, in this conversation or at all."""
    counted = {"id": conversation_id, "here": most.here, "everywhere": most.everywhere}
    ((here, everywhere),) = _WAITING.rows(connection, counted)
    if here >= most.here:
        raise _no_room(most.here, " of this conversation")
    if everywhere >= most.everywhere:
        raise _no_room(most.everywhere)


def _no_room(count: int, whose: str = "") -> PilothouseError:
    seconds = limits.RETRY_AFTER
    waiting = f"1 message{whose} waits for its" if count == 1 else f"{count:,} messages{whose} wait for their"
    return PilothouseError(
        "too_many",
        f"{waiting} answer already, so this one was not taken.",
        fix=f"Send it again in {seconds} seconds or more, when some are answered.",
        retry_after=seconds,
    )
