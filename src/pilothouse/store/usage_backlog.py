"""What was used before it was counted by day is counted little by little, newest conversations first."""

from __future__ import annotations

from collections.abc import Iterable

from pilothouse.store import rows
from pilothouse.store.statements import Connection, Statement
from pilothouse.store.usage import Tallies, used_by
from pilothouse.types import limits
from pilothouse.types.usage import day_of

_FIRST = (
    "SELECT b.conversation_id, c.owner, b.position, b.until FROM usage_backlog b "
    "JOIN conversations c ON c.id = b.conversation_id ORDER BY c.updated_at DESC LIMIT 1"
)
_NEXT = Statement(_FIRST)
# Several processes on one database take different ones.
_NEXT_OF_MANY = Statement(f"{_FIRST} FOR UPDATE OF b SKIP LOCKED")
_OF_CONVERSATION = Statement(
    "SELECT b.conversation_id, c.owner, b.position, b.until FROM usage_backlog b "
    "JOIN conversations c ON c.id = b.conversation_id WHERE b.conversation_id = :id"
)
# Later ones were counted when they were written.
_ITEMS = Statement(
    "SELECT position, body FROM items WHERE conversation_id = :id AND position > :position AND position <= :until "
    "AND kind IN ('response', 'tool_summary', 'compaction') ORDER BY position LIMIT :limit"
)
_GO_ON = Statement("UPDATE usage_backlog SET position = :position WHERE conversation_id = :id")
_DONE = Statement("DELETE FROM usage_backlog WHERE conversation_id = :id")


def catch_up(connection: Connection) -> bool:
    """Count some of what an earlier version kept; tell whether there may be more."""
    wanted = _NEXT if connection.dialect.name == "sqlite" else _NEXT_OF_MANY
    place = wanted.rows(connection, {})
    if place:
        _count(connection, place[0], limits.CATCH_UP_ITEMS)
    return bool(place)


def finish(connection: Connection, conversation_ids: Iterable[str]) -> None:
    """Count the rest of conversations that are about to go for good."""
    for conversation_id in conversation_ids:
        while place := _OF_CONVERSATION.rows(connection, {"id": conversation_id}):
            _count(connection, place[0], limits.CATCH_UP_ITEMS)


def _count(connection: Connection, place: tuple[str, str, int, int], limit: int) -> None:
    conversation_id, owner, position, until = place
    where: dict[str, object] = {"id": conversation_id, "position": position, "until": until, "limit": limit}
    found = _ITEMS.rows(connection, where)
    tallies = Tallies()
    for _, body in found:
        item = rows.kept_item(body)
        tallies.add(owner, day_of(item.created_at), used_by(item.kind, item.raw))
    if len(found) < limit:
        _DONE.run(connection, {"id": conversation_id})
    else:
        _GO_ON.run(connection, {"id": conversation_id, "position": found[-1][0]})
    tallies.write(connection)
