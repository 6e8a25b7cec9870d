"""What tools gave and people attached, beside the timeline: one row per part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from pilothouse.store import inline_images, rows
from pilothouse.store.statements import Connection, Statement, inserting
from pilothouse.types.api import FullResult, PartData
from pilothouse.types.item_data import ResultPart
from pilothouse.types.items import Item
from pilothouse.types.parts import body_of
from pilothouse.types.ports import Part
from pilothouse.types.records import KeptResult

_ADD = inserting(
    *("parts", "item_id", "index", "conversation_id", "cut"),
    *("kind", "media_type", "name", "uri", "is_text", "size", "body"),
)
_COPY = Statement(
    'INSERT INTO parts (item_id, "index", conversation_id, cut, kind, media_type, name, uri, is_text, size, body) '
    'SELECT :id, "index" + :first, :conversation_id, cut, kind, media_type, name, uri, is_text, size, body '
    "FROM parts WHERE item_id = :of"
)
_LEAVE_OUT = Statement('DELETE FROM parts WHERE item_id = :id AND "index" = :index')
_DROP = Statement('DELETE FROM parts WHERE item_id = :id AND "index" >= :start')
_OF_ITEM = Statement(
    'SELECT "index", kind, media_type, name, uri, size, cut, CASE WHEN is_text THEN body END '
    'FROM parts WHERE item_id = :id ORDER BY "index"'
)
_ONE = Statement('SELECT media_type, name, is_text, body FROM parts WHERE item_id = :id AND "index" = :index')
_BODY = Statement(
    'SELECT body FROM parts WHERE item_id = :id AND "index" = :index AND conversation_id = :conversation_id'
)
_OF_RUN = Statement(
    'SELECT parts.item_id, parts."index" FROM parts JOIN items ON items.id = parts.item_id WHERE items.run_id = :id'
)
_RAW_ITEM = Statement("SELECT body FROM items WHERE id = :id AND conversation_id = :conversation_id")


def keep(connection: Connection, result: KeptResult) -> None:
    """Put the parts in place of any that were kept for this item before, from the first one's place on."""
    _DROP.run(connection, {"id": result.item_id, "start": result.start})
    _add(connection, result)


def attach(connection: Connection, message: Item, parts: Sequence[Part]) -> None:
    """Keep what came with a message."""
    _add(connection, KeptResult(message.id, message.conversation_id, tuple(parts)))


def copy(connection: Connection, of: str, message: Item, *, first: int, dropped: Sequence[int] = ()) -> None:
    """Keep for a message what came with another one, too, from a place on; save what it does not take over."""
    values = {"of": of, "id": message.id, "conversation_id": message.conversation_id, "first": first}
    _COPY.run(connection, values)
    for index in dropped:
        _LEAVE_OUT.run(connection, {"id": message.id, "index": index + first})


def repeat(connection: Connection, of: str, item_id: str, conversation_id: str) -> None:
    """Keep for a call what was kept of another one's result, instead of any that was kept for it before."""
    _DROP.run(connection, {"id": item_id, "start": 0})
    _COPY.run(connection, {"of": of, "id": item_id, "conversation_id": conversation_id, "first": 0})


def of_run(connection: Connection, run_id: str) -> set[tuple[str, int]]:
    """Return which parts are kept of the items of a run."""
    return {(str(item_id), int(index)) for item_id, index in _OF_RUN.rows(connection, {"id": run_id})}


def copy_all(connection: Connection, pairs: Sequence[tuple[str, str]], conversation_id: str) -> None:
    """Keep for items of another conversation what is kept for others: each as the one it is a copy of, and itself."""
    for of, item_id in pairs:
        _COPY.run(connection, {"of": of, "id": item_id, "conversation_id": conversation_id, "first": 0})


def _add(connection: Connection, kept: KeptResult) -> None:
    about = {"item_id": kept.item_id, "conversation_id": kept.conversation_id, "cut": kept.cut}
    # One at a time: all of them together are twice as much in memory.
    for index, part in enumerate(kept.parts, kept.start):
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


def result(connection: Connection, owner: str, item_id: str) -> FullResult | None:
    """Return the parts of a result, files without their bytes."""
    rows.owned_item(connection, owner, item_id)
    found = _OF_ITEM.rows(connection, {"id": item_id})
    if not found:
        return None
    parts = tuple(
        ResultPart(
            index=index,
            kind=kind,
            text=bytes(text or b"").decode(),
            media_type=media_type,
            name=name,
            uri=uri,
            bytes=size,
        )
        for index, kind, media_type, name, uri, size, _, text in found
    )
    return FullResult(item_id=item_id, parts=parts, cut=any(row[6] for row in found))


def part(connection: Connection, owner: str, item_id: str, index: int) -> PartData | None:
    """Return one part; text leaves as plain text, whatever it says it is."""
    item = rows.owned_item(connection, owner, item_id)
    found = _ONE.rows(connection, {"id": item_id, "index": index})
    if not found:
        return _in_timeline(connection, item.conversation_id, item_id, index)
    media_type, name, is_text, data = found[0]
    told = "text/plain; charset=utf-8" if is_text else media_type
    return PartData(media_type=told, name=name, data=bytes(data))


def body(connection: Connection, conversation_id: str, item_id: str, index: int) -> bytes | None:
    """Return the bytes of one part, if it belongs to this conversation."""
    found = kept(connection, conversation_id, item_id, index)
    if found is not None:
        return bytes(found)
    old = _in_timeline(connection, conversation_id, item_id, index)
    return old.data if old is not None else None


def kept(connection: Connection, conversation_id: str, item_id: str, index: object) -> bytes | None:
    """Return what is kept of one part beside the timeline, whatever that is by now."""
    found = _BODY.first(connection, {"id": item_id, "index": index, "conversation_id": conversation_id})
    return cast(bytes | None, found)


def _in_timeline(connection: Connection, conversation_id: str, item_id: str, index: int) -> PartData | None:
    raw = _RAW_ITEM.first(connection, {"id": item_id, "conversation_id": conversation_id})
    return inline_images.part(rows.kept_item(raw), index) if raw is not None else None
