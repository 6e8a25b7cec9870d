"""What was kept before search knew of it becomes findable little by little, newest conversations first."""

from __future__ import annotations

import sqlalchemy as sa

from pilothouse.store import rows, search
from pilothouse.store.packed_text import packed_text
from pilothouse.store.statements import Statement
from pilothouse.types import limits
from pilothouse.types.items import CLOSED

_NEXT = """
SELECT b.conversation_id, b.position FROM search_backlog b JOIN conversations c ON c.id = b.conversation_id
ORDER BY c.updated_at DESC LIMIT 1
"""
# Several processes on one database take different ones.
_NEXT_OF_MANY = f"{_NEXT} FOR UPDATE OF b SKIP LOCKED"
_CALLS = sa.text("""
SELECT position, body FROM items i
WHERE conversation_id = :conversation_id AND position > :position AND kind = 'tool_call'
  AND NOT EXISTS (SELECT 1 FROM search_texts t WHERE t.conversation_id = i.conversation_id AND t.item_id = i.id)
ORDER BY position LIMIT :limit
""")
_GO_ON = sa.text("UPDATE search_backlog SET position = :position WHERE conversation_id = :conversation_id")
_DONE = sa.text("DELETE FROM search_backlog WHERE conversation_id = :conversation_id")
_TEXTS = Statement(
    "SELECT id, body FROM search_texts WHERE id < (SELECT before FROM texts_backlog) ORDER BY id DESC LIMIT :limit"
)
_PACK_TEXT = Statement("UPDATE search_texts SET body = :packed WHERE id = :id")
_ADD_PARTS = Statement("INSERT INTO search_parts (rowid, body) VALUES (:id, :text)")
_TEXTS_LEFT = Statement("UPDATE texts_backlog SET before = :id")
_TEXTS_DONE = Statement("DELETE FROM texts_backlog")


def catch_up(connection: sa.Connection) -> bool:
    """Do a part of what an upgrade left to be done; tell whether there may be more."""
    return _index_calls(connection) or (connection.dialect.name == "sqlite" and _pack_texts(connection))


def _pack_texts(connection: sa.Connection) -> bool:
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


def _index_calls(connection: sa.Connection) -> bool:
    """Make some calls findable; tell whether there may be more."""
    wanted = _NEXT if connection.dialect.name == "sqlite" else _NEXT_OF_MANY
    place = connection.execute(sa.text(wanted)).first()
    if place is None:
        return False
    where = {"conversation_id": place.conversation_id, "position": place.position}
    calls = connection.execute(_CALLS, where | {"limit": limits.CATCH_UP_ITEMS}).all()
    for row in calls:
        item = rows.item_decoder.decode(row.body)
        # One that is still under way is taken up when it ends.
        if item.status in CLOSED:
            search.index_item(connection, item)
    if len(calls) < limits.CATCH_UP_ITEMS:
        connection.execute(_DONE, {"conversation_id": place.conversation_id})
    else:
        connection.execute(_GO_ON, where | {"position": calls[-1].position})
    return True
