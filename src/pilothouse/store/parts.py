"""What tools gave and people attached, beside the timeline: one row per part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import sqlalchemy as sa

from pilothouse.store import inline, rows, schema
from pilothouse.store.statements import Statement
from pilothouse.types.api import FullResult, PartData, ResultPart
from pilothouse.types.items import Item
from pilothouse.types.parts import body_of
from pilothouse.types.ports import KeptResult, Part

_table = schema.parts
_ADD = Statement(
    'INSERT INTO parts (item_id, "index", conversation_id, kind, media_type, name, uri, is_text, size, cut, body) '
    "VALUES (:item_id, :index, :conversation_id, :kind, :media_type, :name, :uri, :is_text, :size, :cut, :body)"
)
_BODY = Statement(
    'SELECT body FROM parts WHERE item_id = :id AND "index" = :index AND conversation_id = :conversation_id'
)
_RAW_ITEM = Statement("SELECT body FROM items WHERE id = :id AND conversation_id = :conversation_id")


def keep(connection: sa.Connection, result: KeptResult) -> None:
    """Put the parts in place of any that were kept for this call before."""
    connection.execute(sa.delete(_table).where(_table.c.item_id == result.item_id))
    _add(connection, result)


def attach(connection: sa.Connection, message: Item, parts: Sequence[Part]) -> None:
    """Keep what came with a message."""
    _add(connection, KeptResult(message.id, message.conversation_id, tuple(parts)))


def _add(connection: sa.Connection, kept: KeptResult) -> None:
    about = {"item_id": kept.item_id, "conversation_id": kept.conversation_id, "cut": kept.cut}
    # One at a time: all of them together are twice as much in memory.
    for index, part in enumerate(kept.parts):
        _ADD.run(connection, {**about, "index": index, **_row(part)})


def _row(part: Part) -> dict[str, object]:
    body = body_of(part)
    return {
        "kind": part.kind,
        "media_type": part.media_type,
        "name": part.name,
        "uri": part.uri,
        "is_text": not part.data,
        "size": len(body),
        "body": body,
    }


def result(connection: sa.Connection, owner: str, item_id: str) -> FullResult | None:
    """Return the parts of a result, files without their bytes."""
    rows.owned_item(connection, owner, item_id)
    columns = _table.c
    body = sa.case((columns.is_text, columns.body), else_=None).label("body")
    query = sa.select(
        columns.index, columns.kind, columns.media_type, columns.name, columns.uri, columns.size, columns.cut, body
    )
    found = connection.execute(query.where(columns.item_id == item_id).order_by(columns.index)).all()
    if not found:
        return None
    parts = tuple(
        ResultPart(
            index=row._mapping["index"],
            kind=row.kind,
            text=bytes(row.body or b"").decode(),
            media_type=row.media_type,
            name=row.name,
            uri=row.uri,
            bytes=row.size,
        )
        for row in found
    )
    return FullResult(item_id=item_id, parts=parts, cut=any(row.cut for row in found))


def part(connection: sa.Connection, owner: str, item_id: str, index: int) -> PartData | None:
    """Return one part; text leaves as plain text, whatever it says it is."""
    item = rows.owned_item(connection, owner, item_id)
    query = sa.select(_table.c.media_type, _table.c.name, _table.c.is_text, _table.c.body)
    row = connection.execute(query.where(_table.c.item_id == item_id, _table.c.index == index)).one_or_none()
    if row is None:
        return _in_timeline(connection, item.conversation_id, item_id, index)
    media_type = "text/plain; charset=utf-8" if row.is_text else row.media_type
    return PartData(media_type=media_type, name=row.name, data=bytes(row.body))


def body(connection: sa.Connection, conversation_id: str, item_id: str, index: int) -> bytes | None:
    """Return the bytes of one part, if it belongs to this conversation."""
    found = kept(connection, conversation_id, item_id, index)
    if found is not None:
        return bytes(found)
    old = _in_timeline(connection, conversation_id, item_id, index)
    return old.data if old is not None else None


def kept(connection: sa.Connection, conversation_id: str, item_id: str, index: object) -> bytes | None:
    """Return what is kept of one part beside the timeline, whatever that is by now."""
    found = _BODY.first(connection, {"id": item_id, "index": index, "conversation_id": conversation_id})
    return cast(bytes | None, found)


def _in_timeline(connection: sa.Connection, conversation_id: str, item_id: str, index: int) -> PartData | None:
    raw = _RAW_ITEM.first(connection, {"id": item_id, "conversation_id": conversation_id})
    return inline.part(rows.item_decoder.decode(raw), index) if raw is not None else None
