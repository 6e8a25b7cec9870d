"""The feed: what happens in a conversation, sent to everyone who reads it.

The store is the truth. A reader first catches up from it, then gets what this process publishes, and goes
back to the store whenever a number is missing (another process wrote) or nothing came for a while.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Literal, Protocol

from pilothouse.types import limits
from pilothouse.types.api import NoticeFrame
from pilothouse.types.events import ItemDelta, event_decoder, utf16_length
from pilothouse.types.feed import FeedEvent, Lagged
from pilothouse.types.host import FeedBatch, ListChange
from pilothouse.types.json import encode
from pilothouse.types.records import Records


class Tail(Protocol):
    """A run's text on its way to the store."""

    def unsaved(self) -> Sequence[FeedEvent]:
        """Return what was sent live and is not in the store yet, as deltas."""
        ...

    def sent(self, item_id: str) -> int:
        """Return how much of an item's text was sent live, in UTF-16 units."""
        ...


def live_delta(item_id: str, offset: int, text: str) -> FeedEvent:
    """Return a delta that is sent now and not kept."""
    delta = ItemDelta(seq=0, at=time.time(), item_id=item_id, offset=offset, text=text)
    return FeedEvent(0, "item.delta", encode(delta))


class _Reader:
    """One reader's place in the feed."""

    __slots__ = ("behind", "cursor", "kept_only", "lagged", "live", "queue", "ready")

    def __init__(self, cursor: int, kept_only: bool) -> None:
        self.cursor = cursor
        self.kept_only = kept_only
        self.live = False
        self.behind = True
        self.lagged = False
        self.queue: list[FeedEvent] = []
        self.ready = asyncio.Event()

    def offer(self, event: FeedEvent) -> None:
        """Take an event if it is the next one; anything else sends the reader back to the store."""
        if self.lagged:
            return
        if not self.live:
            self.behind = True
        elif event.seq == 0:
            self.queue.append(event)
        elif event.seq == self.cursor + 1:
            self.cursor = event.seq
            self.queue.append(event)
        elif event.seq > self.cursor:
            self.fall_back()
        if len(self.queue) > limits.FEED_QUEUE:
            self.lagged = True
            # Nobody will read these: a suspended tab must not hold memory.
            self.queue = []
        self.ready.set()

    def fall_back(self) -> None:
        """Catch up from the store again; the cursor is where delivery has come to."""
        self.live = False
        self.behind = True
        self.ready.set()

    async def take(self) -> list[FeedEvent]:
        """Return what is there, waiting a while for something."""
        if not self.queue and self.live:
            # Cheaper than a timeout, which every batch of every reader would pay for.
            timer = asyncio.get_running_loop().call_later(limits.FEED_PING, self.fall_back)
            try:
                await self.ready.wait()
            finally:
                timer.cancel()
        self.ready.clear()
        if self.lagged:
            raise Lagged
        batch, self.queue = self.queue, []
        return batch


class Feed:
    """All readers of this process."""

    def __init__(self) -> None:
        self._readers: dict[str, set[_Reader]] = defaultdict(set)
        self._tails: dict[str, Tail] = {}
        self._lists: dict[asyncio.Queue[ListChange], str] = {}
        self._notices: dict[str, NoticeFrame] = {}
        # Called with the conversation of every durable write, to tell other processes.
        self.on_written: Callable[[str], None] = lambda _conversation_id: None
        # Called with everything on its way to readers, kept or not.
        self.on_events: Callable[[str, Sequence[FeedEvent]], None] = lambda _conversation_id, _events: None
        # Called with the conversation when its row in the list may have changed.
        self.on_listed: Callable[[str], None] = lambda _conversation_id: None

    # --- writing ---

    def publish(self, conversation_id: str, events: Sequence[FeedEvent]) -> None:
        """Send durable events that this process wrote."""
        readers = self._readers.get(conversation_id)
        for event in events:
            if readers:
                news = self._news(conversation_id, event)
                for reader in readers:
                    reader.offer(news)
            if event.kind in ("conversation.updated", "run.updated"):
                self.on_listed(conversation_id)
        self.on_written(conversation_id)
        self.on_events(conversation_id, events)

    def _news(self, conversation_id: str, event: FeedEvent) -> FeedEvent:
        """Return the event without text that everyone who is live has had already."""
        tail = self._tails.get(conversation_id)
        if tail is None or event.kind != "item.delta":
            return event
        delta = event_decoder.decode(event.json)
        if not isinstance(delta, ItemDelta):
            return event
        end = delta.offset + utf16_length(delta.text)
        if end > tail.sent(delta.item_id):
            return event
        short = ItemDelta(seq=delta.seq, at=delta.at, item_id=delta.item_id, offset=end, text="")
        return FeedEvent(event.seq, event.kind, encode(short))

    def live(self, conversation_id: str, event: FeedEvent) -> None:
        """Send something that is not kept."""
        self.on_events(conversation_id, (event,))
        for reader in self._readers.get(conversation_id, ()):
            if reader.live and not reader.kept_only:
                reader.offer(event)

    def wake(self, conversation_id: str) -> None:
        """Send readers to the store: another process wrote there."""
        for reader in self._readers.get(conversation_id, ()):
            reader.fall_back()

    def wake_all(self) -> None:
        """Send all readers to the store, after wake-ups may have been missed."""
        for conversation_id in list(self._readers):
            self.wake(conversation_id)

    def set_tail(self, conversation_id: str, tail: Tail) -> None:
        """Name the run's journal whose text new readers need beyond the store's."""
        self._tails[conversation_id] = tail

    def drop_tail(self, conversation_id: str, tail: Tail) -> None:
        """Forget a journal, unless the next run's has taken its place."""
        if self._tails.get(conversation_id) is tail:
            del self._tails[conversation_id]

    # --- reading ---

    async def read(
        self, records: Records, conversation_id: str, after: int, *, kept_only: bool = False
    ) -> AsyncGenerator[FeedBatch, None]:
        """Yield everything after a number, for as long as the reader stays; empty batches are pings."""
        reader = _Reader(after, kept_only)
        self._readers[conversation_id].add(reader)
        try:
            while True:
                async for page in _missed(records, conversation_id, reader):
                    yield page
                tail = self._tails.get(conversation_id)
                reader.live = True
                if tail is not None and not kept_only and (unsaved := tail.unsaved()):
                    yield unsaved
                while reader.live:
                    yield await reader.take()
                if reader.queue:
                    yield await reader.take()
        finally:
            self._readers[conversation_id].discard(reader)
            if not self._readers[conversation_id]:
                del self._readers[conversation_id]

    # --- the list ---

    async def list_changes(self, owner: str) -> AsyncGenerator[ListChange, None]:
        """Yield what changes outside a single conversation."""
        queue: asyncio.Queue[ListChange] = asyncio.Queue(limits.FEED_QUEUE)
        self._lists[queue] = owner
        try:
            for notice in list(self._notices.values()):
                yield notice
            while queue in self._lists:
                yield await queue.get()
            raise Lagged
        finally:
            self._lists.pop(queue, None)

    def list_owners(self) -> set[str]:
        """Return the owners who are watching their list."""
        return set(self._lists.values())

    def tell(self, change: ListChange, owner: str | None = None) -> None:
        """Send a change of the list to its owner, or to everyone."""
        for queue, watching in list(self._lists.items()):
            if owner not in (None, watching):
                continue
            if queue.full():
                # Too slow to be told everything: it must look at the whole list again.
                del self._lists[queue]
            else:
                queue.put_nowait(change)

    def notice(self, level: Literal["info", "warning", "error"], code: str, message: str) -> None:
        """Tell everyone about the state of the server; new watchers hear what still holds."""
        frame = NoticeFrame(level=level, code=code, message=message)
        if level == "info":
            if self._notices.pop(code, None) is None:
                return
        elif self._notices.get(code) == frame:
            return
        else:
            self._notices[code] = frame
        self.tell(frame)


async def _missed(records: Records, conversation_id: str, reader: _Reader) -> AsyncGenerator[FeedBatch, None]:
    """Yield what the store has beyond the reader, until nothing new came while asking."""
    while True:
        reader.behind = False
        page = await records.events(conversation_id, reader.cursor, limits.FEED_PAGE)
        if page:
            reader.cursor = page[-1].seq
            yield page
        elif not reader.behind:
            return
