"""Pictures that a model made: checked, bounded, kept beside the timeline, and listed in the item of its answer."""

from __future__ import annotations

import asyncio
import base64
import binascii

from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.media import OPAQUE, picture_type
from pilothouse.types.parts import content
from pilothouse.types.ports import Journal, Part
from pilothouse.types.stream import PictureDelta

_NO_PICTURE = "The model gave a picture ({}) that cannot be shown, so it was left out."
_TOO_LARGE = "The model made a picture of more than {} MB, which was left out."
_TOO_MUCH = "The pictures of the answer had more than {} MB together; the others were left out."
_TOO_MANY = "The model made more than {} pictures in one answer; the others were left out."


class Pictures:
    """The pictures of one answer."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        # What the item says of each, as of a person's images.
        self.content: list[JsonObject] = []
        self._bytes = 0
        # Why others are not there, each reason once.
        self.left_out: dict[str, None] = {}

    async def checked(self, event: PictureDelta) -> Part | None:
        """Return a picture as it is kept; None when it is left out."""
        if len(self.content) >= limits.ANSWER_PICTURES:
            self.left_out[_TOO_MANY.format(limits.ANSWER_PICTURES)] = None
            return None
        # Megabytes would hold the others up.
        made = await asyncio.to_thread(_checked, event, len(self.content) + 1)
        if not isinstance(made, str) and self._bytes + len(made.data) > limits.PICTURES_BYTES:
            made = _TOO_MUCH.format(limits.PICTURES_BYTES // 1024 // 1024)
        if isinstance(made, str):
            self.left_out[made] = None
            return None
        self._bytes += len(made.data)
        return made

    async def keep(self, item_id: str, part: Part, at: int) -> JsonObject:
        """Keep a picture as the next part of an item, and return what the item then has to say.

        `at` is how many characters of the answer's text stand before it.
        """
        place = len(self.content)
        await self._journal.attach(item_id, place, part)
        (told,) = await asyncio.to_thread(content, (part,), are_apart=True, start=place)
        self.content.append(told | {"at": at} if at else told)
        return {"content": list(self.content)}


def _checked(event: PictureDelta, number: int) -> Part | str:
    """Return the picture, which is what its bytes are; or why it is left out."""
    if len(event.data) > limits.PICTURE_BYTES * 4 // 3 + 4:
        return _TOO_LARGE.format(limits.PICTURE_BYTES // 1024 // 1024)
    try:
        data = base64.b64decode(event.data, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    media_type = picture_type(data)
    if media_type == OPAQUE:
        return _NO_PICTURE.format(event.media_type[: limits.RESULT_LABEL_CHARS] or "of no kind")
    name = f"picture-{number}.{media_type.removeprefix('image/')}"
    return Part(kind="image", data=data, media_type=media_type, name=name)
