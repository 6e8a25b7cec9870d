"""Text that another process streams: pieces that are not kept yet, for readers here.

A piece may get lost on its way, and a reader may come in the middle. So none is given to anyone before it is known here
that everything before it is kept: whoever has read the store then misses nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from pilothouse.types import limits
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemDelta, event_decoder, utf16_length
from pilothouse.types.feed import FeedEvent


class _Pieces:
    """The pieces of one item, each where the one before it ends."""

    __slots__ = ("begin", "bytes", "end", "waiting")

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.end = begin
        self.waiting: deque[tuple[int, FeedEvent]] = deque()
        self.bytes = 0

    def add(self, end: int, event: FeedEvent) -> None:
        self.waiting.append((end, event))
        self.end = end
        self.bytes += len(event.json)

    def count_kept(self, kept: int) -> None:
        """Forget what is kept."""
        while self.waiting and self.waiting[0][0] <= kept:
            self.begin, event = self.waiting.popleft()
            self.bytes -= len(event.json)
        self.end = max(self.end, kept)
        if not self.waiting:
            self.begin = self.end


class RemoteText:
    """What is known here of a conversation's text that another process streams."""

    def __init__(self) -> None:
        self._pieces: dict[str, _Pieces] = {}
        # How much of an item's text is kept, as far as anyone here has read; in UTF-16 units.
        self._kept: dict[str, int] = {}

    def hear(self, event: FeedEvent) -> bool:
        """Take a piece; return whether readers who are live can have it now."""
        delta = _decoded(event)
        if not isinstance(delta, ItemDelta):
            return False
        end = delta.offset + utf16_length(delta.text)
        pieces = self._pieces.get(delta.item_id)
        if pieces is None or pieces.end != delta.offset or pieces.bytes > limits.LIVE_KEPT_BYTES:
            if pieces is not None and end <= pieces.end:
                return False
            # One got lost, or there are too many: from here on, once what is before it is kept.
            self._pieces.pop(delta.item_id, None)
            if len(self._pieces) >= limits.LIVE_ITEMS:
                return False
            pieces = self._pieces[delta.item_id] = _Pieces(delta.offset)
        pieces.add(end, event)
        return self._is_open(delta.item_id)

    def hear_kept(self, event: FeedEvent) -> bool:
        """Take word that text is kept; return whether readers who are live have had all of it."""
        delta = _decoded(event)
        pieces = self._pieces.get(delta.item_id) if isinstance(delta, ItemDelta) else None
        if not isinstance(delta, ItemDelta) or pieces is None:
            return False
        end = delta.offset + utf16_length(delta.text)
        if pieces.end < end or not self._is_open(delta.item_id):
            return False
        self._count_kept(delta.item_id, end)
        return True

    def see(self, page: Sequence[FeedEvent]) -> None:
        """Take what a reader here has read in the store."""
        for event in page:
            match _decoded(event) if event.kind.startswith("item.") else None:
                case ItemCreated(item=item) if item.status == "streaming":
                    self._count_kept(item.id, utf16_length(item.text))
                case ItemDelta(item_id=item_id, offset=offset, text=text):
                    self._count_kept(item_id, offset + utf16_length(text))
                case ItemCompleted(item_id=item_id):
                    self._pieces.pop(item_id, None)
                    self._kept.pop(item_id, None)
                case _:
                    pass

    def unsaved(self) -> list[FeedEvent]:
        """Return what was heard and is not kept, as far as anyone here knows."""
        return [
            event for item_id, pieces in self._pieces.items() if self._is_open(item_id) for _, event in pieces.waiting
        ]

    def _is_open(self, item_id: str) -> bool:
        return self._pieces[item_id].begin <= self._kept.get(item_id, -1)

    def _count_kept(self, item_id: str, end: int) -> None:
        kept = self._kept.pop(item_id, 0)
        self._kept[item_id] = max(kept, end)
        while len(self._kept) > limits.LIVE_ITEMS:
            del self._kept[next(iter(self._kept))]
        if item_id in self._pieces:
            self._pieces[item_id].count_kept(self._kept[item_id])


def _decoded(event: FeedEvent) -> Event | None:
    try:
        decoded: Event = event_decoder.decode(event.json)
    except msgspec.MsgspecError:
        # Of a version that says it in another way.
        return None
    return decoded
