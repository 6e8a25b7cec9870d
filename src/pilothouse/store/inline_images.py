"""Images that stand in the timeline itself, as messages had them before parts were kept beside it.

What is sealed is never rewritten. Readers get what the images are, like of any part, and fetch those that they look at.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec

from pilothouse.types.api import PartData
from pilothouse.types.events import ItemCreated, event_decoder
from pilothouse.types.feed import FeedEvent
from pilothouse.types.item_data import ResultPart
from pilothouse.types.items import Item
from pilothouse.types.json import encode
from pilothouse.types.media import picture_type
from pilothouse.types.parts import in_timeline
from pilothouse.types.pictures import picture_size

_KEY = "images"
_MARK = b'"images":[{'
# Base64 of the beginning of a picture, where its size stands; of a JPEG that may come after a thumbnail.
_HEAD = 400_000


def item_without(item: Item) -> Item:
    """Return an item with what its images are instead of the images."""
    images = item.raw.get(_KEY)
    if item.kind != "user_message" or not isinstance(images, list):
        return item
    content = [in_timeline(_described(index, str(image["data"]))) for index, image in enumerate(images)]
    rest = {name: value for name, value in item.raw.items() if name != _KEY}
    return msgspec.structs.replace(item, raw={**rest, "content": content})


def event_without(event: FeedEvent) -> FeedEvent:
    """Return an event with what its images are instead of the images."""
    if event.kind != "item.created" or _MARK not in event.json:
        return event
    made = event_decoder.decode(event.json)
    if not isinstance(made, ItemCreated):
        return event
    small = msgspec.structs.replace(made, item=item_without(made.item))
    return FeedEvent(event.seq, event.kind, encode(small))


def part(item: Item, index: int) -> PartData | None:
    """Return one of the images of an item as it was kept; None when it has no such."""
    images: list[Any] = item.raw.get(_KEY) or []
    if item.kind != "user_message" or index >= len(images):
        return None
    data = _bytes(str(images[index]["data"]))
    return PartData(media_type=picture_type(data), name="", data=data)


def _described(index: int, text: str) -> ResultPart:
    head = _bytes(text[:_HEAD])
    media_type = picture_type(head)
    width, height = picture_size(media_type, head)
    size = len(text) * 3 // 4 - text[-2:].count("=")
    return ResultPart(index=index, kind="image", media_type=media_type, bytes=size, width=width, height=height)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return b""
