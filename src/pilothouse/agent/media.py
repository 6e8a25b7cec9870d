"""What a model is shown of pictures and sounds, in messages and results; what it is not shown it is told about.

What is shown depends on the model and on what came before, never on what comes after: a request goes on to extend
the one before it, byte for byte. The bytes are fetched for each request, and nobody has them after it.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from pilothouse.types import limits
from pilothouse.types.media import described
from pilothouse.types.messages import Block, ImageBlock, Media, Message, ResultBlock, TextBlock

# Gives the bytes of one part of a message or a result, by its item and the part's place there.
Fetch = Callable[[str, int], Awaitable[bytes | None]]
_FULL = "as much as fits has been shown already"
_LOST = "it was not kept"


async def no_media(_item_id: str, _index: int) -> bytes | None:
    """Return that nothing was kept."""
    return None


class MediaCount:
    """How much of pictures and sounds messages show."""

    def __init__(self) -> None:
        self.pieces = 0
        self.bytes = 0

    def takes(self, media: Media | ImageBlock) -> bool:
        """Return whether one more fits."""
        return self.pieces < limits.SHOWN_MEDIA and self.bytes + media.size <= limits.SHOWN_MEDIA_BYTES

    def add(self, media: Media | ImageBlock) -> None:
        """Count one."""
        self.pieces += 1
        self.bytes += media.size

    @property
    def nearly_full(self) -> bool:
        """Return whether room should be made for more."""
        full = limits.SHOWN_MEDIA_FULL
        return self.pieces > limits.SHOWN_MEDIA * full or self.bytes > limits.SHOWN_MEDIA_BYTES * full


class MediaLoader:
    """Fetches what one model is shown, for one request after the other."""

    def __init__(self, takes: Mapping[str, int], fetch: Fetch) -> None:
        """Take the most bytes of one piece by media type, and who has the bytes."""
        self._takes = takes
        self._fetch = fetch
        # What the last messages show.
        self.shown = MediaCount()

    async def messages(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages with the bytes of what is shown, and a sentence for the rest."""
        self.shown = MediaCount()
        made = []
        for message in messages:
            content = await self.blocks(message.content, by_model=message.role == "assistant")
            made.append(msgspec.structs.replace(message, content=tuple(content)))
        return tuple(made)

    async def blocks(self, blocks: Sequence[Block], *, by_model: bool) -> list[Block]:
        """Return the next blocks with what is shown of them, after those that came before."""
        return [await self._block(block, by_model=by_model) for block in blocks]

    async def _block(self, block: Block, *, by_model: bool) -> Block:
        if isinstance(block, ImageBlock):
            return await (self._made(block) if by_model else self._attached(block))
        return await self._result(block) if isinstance(block, ResultBlock) and block.media else block

    async def _made(self, image: ImageBlock) -> Block:
        """Return a picture that a model made with its bytes, as far as this one takes it and there is room."""
        if why := self._unfit(image):
            return TextBlock(text=_not_shown(image, why))
        shown = await self._attached(image)
        if isinstance(shown, ImageBlock):
            self.shown.add(shown)
        return shown

    async def _attached(self, image: ImageBlock) -> Block:
        """Return what the person showed with its bytes: they chose the model for it."""
        data = await self._load(image.item_id, image.index)
        if not data:
            return TextBlock(text=_not_shown(image, _LOST))
        return msgspec.structs.replace(image, data=data)

    async def _result(self, block: ResultBlock) -> Block:
        shown: list[Media] = []
        notes: list[str] = []
        for media in block.media:
            why = self._unfit(media)
            data = "" if why else await self._load(media.item_id, media.index)
            if data:
                self.shown.add(media)
                shown.append(msgspec.structs.replace(media, data=data))
            else:
                notes.append(_not_shown(media, why or _LOST))
        return msgspec.structs.replace(block, text="\n".join([block.text, *notes]), media=tuple(shown))

    def _unfit(self, media: Media | ImageBlock) -> str:
        """Return why a piece is not shown, or nothing."""
        most = self._takes.get(media.media_type)
        if most is None:
            kind = media.media_type.partition("/")[0]
            some = any(taken.startswith(f"{kind}/") for taken in self._takes)
            what = media.media_type if some else "images" if kind == "image" else "sounds"
            return f"this model takes no {what}"
        if media.size > most:
            return f"this model takes at most {most:,} bytes"
        return "" if self.shown.takes(media) else _FULL

    async def _load(self, item_id: str, index: int) -> str:
        """Return the bytes of a part in base64; nothing when there are none."""
        return base64.b64encode(await self._fetch(item_id, index) or b"").decode()


def _not_shown(media: Media | ImageBlock, why: str) -> str:
    return f"[Not shown: {described(media.media_type, media.size, media.name)}; {why}.]"
