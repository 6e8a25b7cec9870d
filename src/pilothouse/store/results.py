"""Whole results of tool calls: one row per piece."""

from __future__ import annotations

import sqlalchemy as sa

from pilothouse.store import rows, schema
from pilothouse.types.api import FullResult, PartData, ResultPart
from pilothouse.types.ports import KeptResult, Part

_table = schema.results


def keep(connection: sa.Connection, result: KeptResult) -> None:
    """Put the pieces in place of any that were kept for this call before."""
    connection.execute(sa.delete(_table).where(_table.c.item_id == result.item_id))
    about = {"item_id": result.item_id, "conversation_id": result.conversation_id, "cut": result.cut}
    for index, part in enumerate(result.parts):
        connection.execute(sa.insert(_table).values(**about, index=index, **_row(part)))


def _row(part: Part) -> dict[str, object]:
    body = part.data or part.text.encode(errors="replace")
    return {
        "kind": part.kind,
        "media_type": _label(part.media_type),
        "name": _label(part.name),
        "uri": _label(part.uri),
        "is_text": not part.data,
        "size": len(body),
        "body": body,
    }


def _label(text: str) -> str:
    # A server may name its files as it likes; PostgreSQL takes no NUL in a text.
    return text.replace("\x00", " ")


def result(connection: sa.Connection, owner: str, item_id: str) -> FullResult | None:
    """Return the pieces of a result, files without their bytes."""
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
    """Return one piece; text leaves as plain text, whatever it says it is."""
    rows.owned_item(connection, owner, item_id)
    query = sa.select(_table.c.media_type, _table.c.name, _table.c.is_text, _table.c.body)
    row = connection.execute(query.where(_table.c.item_id == item_id, _table.c.index == index)).one_or_none()
    if row is None:
        return None
    media_type = "text/plain; charset=utf-8" if row.is_text else row.media_type
    return PartData(media_type=media_type, name=row.name, data=bytes(row.body))


def body(connection: sa.Connection, conversation_id: str, item_id: str, index: int) -> bytes | None:
    """Return the bytes of one piece, if it belongs to this conversation."""
    columns = _table.c
    query = sa.select(columns.body).where(
        columns.item_id == item_id, columns.index == index, columns.conversation_id == conversation_id
    )
    found = connection.execute(query).scalar_one_or_none()
    return bytes(found) if found is not None else None
