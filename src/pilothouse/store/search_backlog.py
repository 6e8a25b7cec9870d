"""What was kept before search knew of it becomes findable little by little, newest conversations first."""

from __future__ import annotations

from pilothouse.store import rows, search
from pilothouse.store.packed_text import packed_text
from pilothouse.store.statements import Connection, Statement
from pilothouse.types import limits

_FIRST = (
    "SELECT b.conversation_id, b.position FROM search_backlog b JOIN conversations c ON c.id = b.conversation_id "
    "ORDER BY c.updated_at DESC LIMIT 1"
)
_NEXT = Statement(_FIRST)
# Several processes on one database take different ones.
_NEXT_OF_MANY = Statement(f"{_FIRST} FOR UPDATE OF b SKIP LOCKED")
_CALLS = Statement("""
SELECT position, body FROM items i
WHERE conversation_id = :conversation_id AND position > :position AND kind = 'tool_call'
  AND NOT EXISTS (SELECT 1 FROM search_texts t WHERE t.conversation_id = i.conversation_id AND t.item_id = i.id)
ORDER BY position LIMIT :limit
""")
_GO_ON = Statement("UPDATE search_backlog SET position = :position WHERE conversation_id = :conversation_id")
_DONE = Statement("DELETE FROM search_backlog WHERE conversation_id = :conversation_id")
_TEXTS = Statement(
    "SELECT id, body FROM search_texts WHERE id < (SELECT before FROM texts_backlog) ORDER BY id DESC LIMIT :limit"
)
_PACK_TEXT = Statement("UPDATE search_texts SET body = :packed WHERE id = :id")
_ADD_PARTS = Statement("INSERT INTO search_parts (rowid, body) VALUES (:id, :text)")
_TEXTS_LEFT = Statement("UPDATE texts_backlog SET before = :id")
_TEXTS_DONE = Statement("DELETE FROM texts_backlog")


def catch_up(connection: Connection) -> bool:
    """Do a part of what an upgrade left to be done; tell whether there may be more."""
    return _index_calls(connection) or (connection.dialect.name == "sqlite" and _pack_texts(connection))


def _pack_texts(connection: Connection) -> bool:
    """Pack some texts of an earlier version, and make hits inside their words findable."""
    texts = _TEXTS.rows(connection, {"limit": limits.CATCH_UP_ITEMS})
    for row_id, body in texts:
        if isinstance(body, str):
            _PACK_TEXT.run(connection, {"id": row_id, "packed": packed_text(body)})
            _ADD_PARTS.run(connection, {"id": row_id, "text": body})
    if len(texts) < limits.CATCH_UP_ITEMS:
        _TEXTS_DONE.run(connection, {})
        return bool(texts)
    _TEXTS_LEFT.run(connection, {"id": texts[-1][0]})
    return True


def _index_calls(connection: Connection) -> bool:
    """Make some calls findable; tell whether there may be more."""
    wanted = _NEXT if connection.dialect.name == "sqlite" else _NEXT_OF_MANY
    place = wanted.rows(connection, {})
    if not place:
        return False
    conversation_id, position = place[0]
    where: dict[str, object] = {"conversation_id": conversation_id, "position": position}
    calls = _CALLS.rows(connection, where | {"limit": limits.CATCH_UP_ITEMS})
    for _, body in calls:
        # One that is still under way is taken up when it ends.
        search.index_item(connection, rows.kept_item(body))
    if len(calls) < limits.CATCH_UP_ITEMS:
        _DONE.run(connection, where)
    else:
        _GO_ON.run(connection, where | {"position": calls[-1][0]})
    return True
