"""The feed: what happens in a conversation, sent to everyone who reads it.

The store is the truth. A reader first catches up from it, then gets what this process publishes, and goes
back to the store whenever a number is missing (another process wrote) or nothing came for a while.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from pilothouse.timeline.store_outages import store_is_well, wait_for_store
from pilothouse.types import limits
from pilothouse.types.api import InputFrame, ListFrame, NoticeFrame, TodosFrame
from pilothouse.types.errors import PASSING, PilothouseError
from pilothouse.types.events import ItemDelta, ItemUpdated, event_decoder, without_text
from pilothouse.types.feed import FeedEvent, Lagged
from pilothouse.types.host import FeedBatch, ListChange
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.records import Records

if TYPE_CHECKING:
    from pilothouse.timeline.remote_text import RemoteText

_Page = Sequence[FeedEvent]


class Tail(Protocol):
    """A run's text on its way to the store."""

    def unsaved(self) -> Sequence[FeedEvent]:
        """Return what was sent live and is not in the store yet: the same events, so that they cost nothing."""
        ...

    def sent(self, item_id: str) -> int:
        """Return how much of an item's text was sent live, in UTF-16 units."""
        ...


def live_delta(delta: ItemDelta) -> FeedEvent:
    """Return a delta that is sent now and not kept."""
    return FeedEvent(0, "item.delta", encode(msgspec.structs.replace(delta, at=time.time())))


def live_note(item_id: str, data: JsonObject) -> FeedEvent:
    """Return news about an item that are sent now and not kept."""
    return FeedEvent(0, "item.updated", encode(ItemUpdated(seq=0, at=time.time(), item_id=item_id, data=data)))


class _Reader:
    """One reader's place in the feed."""

    __slots__ = ("behind", "cursor", "given", "kept_only", "lagged", "live", "queue", "ready", "waiting")

    def __init__(self, cursor: int, kept_only: bool) -> None:
        # The newest event that it has or that waits for it, and the newest that it has.
        self.cursor = cursor
        self.given = cursor
        self.kept_only = kept_only
        self.live = False
        self.behind = True
        self.lagged = False
        self.queue: deque[FeedEvent] = deque()
        # How many bytes wait for it.
        self.waiting = 0
        self.ready = asyncio.Event()

    def offer(self, event: FeedEvent) -> None:
        """Take an event if it is the next one; anything else sends the reader back to the store."""
        if self.lagged:
            return
        if not self.live:
            self.behind = True
        elif event.seq in (0, self.cursor + 1):
            self._keep(event)
        elif event.seq > self.cursor:
            self.fall_back()
        self.ready.set()

    def _keep(self, event: FeedEvent) -> None:
        self.cursor = event.seq or self.cursor
        self.queue.append(event)
        self.waiting += len(event.json)
        # A suspended tab must not hold memory: many events it reads anew as a whole, much text it reads in the store.
        self.lagged = len(self.queue) > limits.FEED_QUEUE
        if self.lagged or self.waiting > limits.FEED_BYTES:
            self.queue.clear()
            self.waiting = 0
            self.cursor = self.given
            self.fall_back()

    def go_live(self, unsaved: Sequence[FeedEvent]) -> None:
        """Take from now on what is published, after what is on its way to the store."""
        self.live = True
        self.queue.extend(unsaved)
        self.waiting += sum(len(event.json) for event in unsaved)

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
        batch: list[FeedEvent] = []
        size = 0
        while self.queue and size < limits.FEED_BATCH_BYTES:
            batch.append(self.queue.popleft())
            size += len(batch[-1].json)
            self.given = batch[-1].seq or self.given
        self.waiting -= size
        return batch

    def caught_up(self, page: Sequence[FeedEvent]) -> None:
        """Count what it got from the store."""
        self.cursor = self.given = page[-1].seq


class _SharedReads:
    """Reads of the store that readers share: those of a conversation who are woken together ask once."""

    def __init__(self) -> None:
        # Nothing comes of one that is broken off or fails.
        self._begun: dict[str, dict[int, asyncio.Future[_Page | None]]] = {}

    def wrote(self, conversation_id: str) -> None:
        """Let nobody join a read that began before this: it may not have what was written."""
        self._begun.pop(conversation_id, None)

    async def page(self, conversation_id: str, after: int, read: Callable[[], Awaitable[_Page]]) -> _Page:
        """Return what another reads just now, or read; raise what that raises."""
        while (other := self._begun.get(conversation_id, {}).get(after)) is not None:
            if (found := await asyncio.shield(other)) is not None:
                return found
        begun = self._begun.setdefault(conversation_id, {})
        own = begun[after] = asyncio.get_running_loop().create_future()
        page: _Page | None = None
        try:
            page = await read()
            return page
        finally:
            own.set_result(page)
            self._end(conversation_id, begun, after)

    def _end(self, conversation_id: str, begun: dict[int, asyncio.Future[_Page | None]], after: int) -> None:
        # No other began at this number since, except where something was written, and then there is another dictionary.
        del begun[after]
        if not begun and self._begun.get(conversation_id) is begun:
            del self._begun[conversation_id]


class _Watcher:
    """One reader of the list: of what waits for it, the newest of each thing counts."""

    __slots__ = ("changes", "lagged", "owner", "ready")

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.lagged = False
        self.changes: dict[tuple[object, ...], ListChange] = {}
        self.ready = asyncio.Event()

    def offer(self, change: ListChange) -> None:
        """Take a change; what it is about is not told as it was before."""
        about = _about(change)
        self.changes.pop(about, None)
        self.changes[about] = change
        if len(self.changes) > limits.FEED_QUEUE:
            # Too slow to be told everything: it must look at the whole list again.
            self.lagged = True
            self.changes.clear()
        self.ready.set()

    async def take(self) -> ListChange:
        """Return the change that has waited longest."""
        while not self.changes and not self.lagged:
            self.ready.clear()
            await self.ready.wait()
        if self.lagged:
            raise Lagged
        return self.changes.pop(next(iter(self.changes)))


def _about(change: ListChange) -> tuple[object, ...]:
    match change:
        case ListFrame():
            return ListFrame, change.conversation.id
        case InputFrame():
            return InputFrame, change.item_id
        case NoticeFrame():
            return NoticeFrame, change.code
        case TodosFrame():
            return TodosFrame, change.topic_id
        case _:
            return (type(change),)


class Feed:
    """All readers of this process."""

    def __init__(self) -> None:
        self._readers: dict[str, set[_Reader]] = defaultdict(set)
        # Of each conversation one for each run at work: those of a comparison are side by side.
        self._tails: dict[str, list[Tail]] = {}
        self._watchers: set[_Watcher] = set()
        self._notices: dict[str, NoticeFrame] = {}
        self._hearers: list[Callable[[str, Sequence[FeedEvent]], None]] = []
        # Who wants to know what is read here, and of what is read the text that other processes stream.
        self._askers: list[Callable[[str], None]] = []
        self._remote: dict[str, RemoteText] = {}
        self._reads = _SharedReads()

    def subscribe(self, hear: Callable[[str, Sequence[FeedEvent]], None]) -> None:
        """Let someone of this process hear everything on its way to readers; what is not kept has no number."""
        self._hearers.append(hear)

    def subscribe_reading(self, begun: Callable[[str], None]) -> None:
        """Let someone know when a conversation begins to be read here, who may have its text from other processes."""
        self._askers.append(begun)

    def read_here(self) -> Sequence[str]:
        """Return the conversations that someone reads here as they are written."""
        return list(self._remote)

    # --- writing ---

    def publish(self, conversation_id: str, events: Sequence[FeedEvent]) -> None:
        """Send durable events that this process wrote."""
        self._reads.wrote(conversation_id)
        readers = self._readers.get(conversation_id, ())
        for event in events if readers else ():
            news = self._news(conversation_id, event)
            for reader in readers:
                reader.offer(news)
        for hear in self._hearers:
            hear(conversation_id, events)

    def _news(self, conversation_id: str, event: FeedEvent) -> FeedEvent:
        """Return the event without text that everyone who is live has had already."""
        tails = self._tails.get(conversation_id)
        if not tails or event.kind != "item.delta":
            return event
        delta = event_decoder.decode(event.json)
        if not isinstance(delta, ItemDelta):
            return event
        short = without_text(delta)
        if short.offset > max(tail.sent(delta.item_id) for tail in tails):
            return event
        return FeedEvent(event.seq, event.kind, encode(short))

    def live(self, conversation_id: str, event: FeedEvent) -> None:
        """Send something that is not kept."""
        for hear in self._hearers:
            hear(conversation_id, (event,))
        for reader in self._readers.get(conversation_id, ()):
            if reader.live and not reader.kept_only:
                reader.offer(event)

    def live_elsewhere(self, conversation_id: str, event: FeedEvent) -> None:
        """Send readers here what another process sends to its own."""
        remote = self._remote.get(conversation_id)
        if remote is not None and remote.hear(event):
            for reader in self._readers.get(conversation_id, ()):
                if reader.live and not reader.kept_only:
                    reader.offer(event)

    def kept_elsewhere(self, conversation_id: str, event: FeedEvent) -> None:
        """Let readers here know that another process kept text; who has not had it all reads the store."""
        self._reads.wrote(conversation_id)
        remote = self._remote.get(conversation_id)
        had = remote is not None and remote.hear_kept(event)
        for reader in self._readers.get(conversation_id, ()):
            if had and not reader.kept_only:
                reader.offer(event)
            elif reader.cursor < event.seq:
                reader.fall_back()

    def is_read(self, conversation_id: str) -> bool:
        """Return whether anyone reads a conversation here."""
        return conversation_id in self._readers

    def readers(self) -> tuple[int, int]:
        """Return how many read a conversation here right now, and how many the list."""
        return sum(map(len, self._readers.values())), len(self._watchers)

    def wake(self, conversation_id: str) -> None:
        """Send readers to the store: another process wrote there."""
        self._reads.wrote(conversation_id)
        for reader in self._readers.get(conversation_id, ()):
            reader.fall_back()

    def wake_all(self) -> None:
        """Send all readers to the store, after wake-ups may have been missed."""
        for conversation_id in list(self._readers):
            self.wake(conversation_id)

    def set_tail(self, conversation_id: str, tail: Tail) -> None:
        """Name a run's journal whose text new readers need beyond the store's."""
        self._tails.setdefault(conversation_id, []).append(tail)

    def drop_tail(self, conversation_id: str, tail: Tail) -> None:
        """Forget a journal."""
        tails = self._tails.get(conversation_id, [])
        if tail in tails:
            tails.remove(tail)
        if not tails:
            self._tails.pop(conversation_id, None)

    # --- reading ---

    async def read(
        self, records: Records, conversation_id: str, after: int, *, kept_only: bool = False, last: int | None = None
    ) -> AsyncGenerator[FeedBatch, None]:
        """Yield everything after a number, for as long as the reader stays; empty batches are pings.

        Raises Lagged for a number beyond the last: a power cut took what it stood for, or an older copy came back.
        """
        if last is not None and after > last:
            raise Lagged
        reader = _Reader(after, kept_only)
        self._begin_reading(conversation_id, reader)
        try:
            while True:
                async for page in self._missed(records, conversation_id, reader):
                    yield page
                reader.go_live(self._unsaved(conversation_id) if not kept_only else ())
                while reader.live or reader.queue or reader.lagged:
                    yield await reader.take()
        finally:
            self._end_reading(conversation_id, reader)

    def _begin_reading(self, conversation_id: str, reader: _Reader) -> None:
        self._readers[conversation_id].add(reader)
        if self._askers and not reader.kept_only and conversation_id not in self._remote:
            # Imported only where there are other processes.
            from pilothouse.timeline.remote_text import RemoteText  # noqa: PLC0415

            self._remote[conversation_id] = RemoteText()
            for ask in self._askers:
                ask(conversation_id)

    def _end_reading(self, conversation_id: str, reader: _Reader) -> None:
        readers = self._readers[conversation_id]
        readers.discard(reader)
        if all(other.kept_only for other in readers):
            self._remote.pop(conversation_id, None)
        if not readers:
            del self._readers[conversation_id]

    def _unsaved(self, conversation_id: str) -> list[FeedEvent]:
        """Return what was sent live and is not kept yet, here and elsewhere."""
        unsaved = [event for tail in self._tails.get(conversation_id, ()) for event in tail.unsaved()]
        remote = self._remote.get(conversation_id)
        return unsaved if remote is None else [*unsaved, *remote.unsaved()]

    def _saw(self, conversation_id: str, reader: _Reader, page: Sequence[FeedEvent]) -> None:
        """Count what a reader got from the store; what follows it elsewhere is for readers who have it, too."""
        reader.caught_up(page)
        remote = self._remote.get(conversation_id)
        if remote is not None and not reader.kept_only:
            remote.see(page)
            for other in self._readers[conversation_id]:
                if other.cursor < reader.cursor:
                    other.fall_back()

    async def _missed(self, records: Records, conversation_id: str, reader: _Reader) -> AsyncGenerator[FeedBatch, None]:
        """Yield what the store has beyond the reader, until nothing came while asking; wait out one that is away."""
        waited = False

        def read() -> Awaitable[Sequence[FeedEvent]]:
            return records.events(conversation_id, reader.cursor, limits.FEED_PAGE, limits.FEED_BATCH_BYTES)

        while True:
            reader.behind = False
            try:
                page = await self._reads.page(conversation_id, reader.cursor, read)
            except PilothouseError as error:
                if error.code not in PASSING:
                    raise
                waited = True
                await wait_for_store(self, error)
                # A reader that has left is noticed by that.
                yield ()
                continue
            if waited:
                store_is_well(self)
                waited = False
            if page:
                self._saw(conversation_id, reader, page)
                yield page
            if _is_last(page) and not reader.behind:
                return

    # --- the list ---

    async def list_changes(self, owner: str) -> AsyncGenerator[ListChange, None]:
        """Yield what changes outside a single conversation."""
        watcher = _Watcher(owner)
        self._watchers.add(watcher)
        try:
            for notice in list(self._notices.values()):
                yield notice
            while True:
                yield await watcher.take()
        finally:
            self._watchers.discard(watcher)

    def list_owners(self) -> set[str]:
        """Return the owners who are watching their list; who owns nothing hears of the whole server only."""
        return {watcher.owner for watcher in self._watchers} - {""}

    def tell(self, change: ListChange, owner: str | None = None) -> None:
        """Send a change of the list to its owner, or to everyone."""
        for watcher in self._watchers:
            if owner in (None, watcher.owner):
                watcher.offer(change)

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

    def trouble(self, code: str) -> str:
        """Return what everyone was told under a code, as long as it holds; else nothing."""
        frame = self._notices.get(code)
        return frame.message if frame is not None else ""


def _is_last(page: Sequence[FeedEvent]) -> bool:
    """Return whether the store had nothing more to give when it gave this."""
    return len(page) < limits.FEED_PAGE and sum(len(event.json) for event in page) < limits.FEED_BATCH_BYTES
