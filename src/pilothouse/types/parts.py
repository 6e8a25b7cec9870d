"""Parts of messages and results: kept beside the timeline, which has what they are and a mark of their content."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from pilothouse.types import limits
from pilothouse.types.item_data import ResultPart
from pilothouse.types.items import Item, parts_of
from pilothouse.types.json import JsonObject
from pilothouse.types.pictures import picture_size
from pilothouse.types.ports import Part

_RARE = frozenset({"digest", "width", "height", "at"})


def body_of(part: Part) -> bytes:
    """Return a part's content as it is kept."""
    return part.data or part.text.encode(errors="replace")


def digest(body: bytes) -> str:
    """Return the mark of a part's content; the seal of the event that has it proves the content too."""
    return hashlib.sha256(body).hexdigest()


def content(parts: Sequence[Part], *, are_apart: bool, start: int = 0) -> list[JsonObject]:
    """Return what the timeline says of parts; what is kept apart is fetched by those who want to see it."""
    return [in_timeline(_described(index, part, are_apart)) for index, part in enumerate(parts, start)]


def in_timeline(part: ResultPart) -> JsonObject:
    """Return a part as the timeline has it: what few of them have stands there only where they do."""
    fields: JsonObject = msgspec.to_builtins(part)
    return {name: value for name, value in fields.items() if value or name not in _RARE}


def _described(index: int, part: Part, is_apart: bool) -> ResultPart:
    body = body_of(part)
    width, height = picture_size(part.media_type, part.data)
    return ResultPart(
        index=index,
        kind=part.kind,
        text=part.text if len(part.text) <= limits.RESULT_INLINE_CHARS else "",
        media_type=part.media_type,
        name=part.name,
        uri=part.uri,
        bytes=len(body),
        digest=digest(body) if is_apart else "",
        width=width,
        height=height,
    )


def in_item(item: Item) -> tuple[ResultPart, ...]:
    """Return the pieces of a result that was not kept apart; a single longer one is the item's own text."""
    parts = parts_of(item)
    if not parts:
        return (ResultPart(index=0, kind="text", text=item.text, bytes=len(item.text.encode())),) if item.text else ()
    if len(parts) == 1 and not parts[0].text and parts[0].bytes:
        return (msgspec.structs.replace(parts[0], text=item.text),)
    return parts
