"""A run's pen: it keeps the run's view of the conversation and writes to the timeline.

Streaming text goes to readers every LIVE_FLUSH seconds and to the store every DURABLE_FLUSH seconds, less often where
others share it; it is on disk with the next thing that is promised, at the latest with the end of the run. While the
store cannot take anything (a full disk), writing waits: the run is paused, and nothing is lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import cast

import msgspec

from pilothouse.timeline.feed import Feed, live_delta, live_note
from pilothouse.timeline.store_outages import patiently, store_is_well, wait_for_store
from pilothouse.types import limits
from pilothouse.types.errors import PASSING, PilothouseError
from pilothouse.types.events import (
    Event,
    ItemCompleted,
    ItemCreated,
    ItemDelta,
    ItemUpdated,
    event_decoder,
    utf16_length,
)
from pilothouse.types.feed import FeedEvent, Guard
from pilothouse.types.folding import changed
from pilothouse.types.invisible import whole
from pilothouse.types.items import Item, ItemKind, ItemStatus, new_item
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Part
from pilothouse.types.records import KeptResult, Records
from pilothouse.types.runs import Run

_log = logging.getLogger(__name__)


class _Text:
    """The text of one streaming item: what readers have, what the store has, what neither has."""

    __slots__ = ("fresh", "live", "parts", "saved", "saving", "sent", "unsaved")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.fresh: list[str] = []
        self.unsaved: list[str] = []
        self.saving = ""
        # In UTF-16 units, as offsets are.
        self.sent = 0
        self.saved = 0
        # What was sent and is not saved, with its end: everyone who comes is sent the very same.
        self.live: deque[tuple[int, FeedEvent]] = deque()

    def send(self, item_id: str) -> list[FeedEvent]:
        """Return the text for readers, and count it as sent."""
        text = "".join(self.fresh)
        self.fresh.clear()
        self.parts.append(text)
        self.unsaved.append(text)
        sent = []
        for delta in _deltas(item_id, self.sent, text):
            self.sent = delta.offset + utf16_length(delta.text)
            sent.append(live_delta(delta))
            self.live.append((self.sent, sent[-1]))
        return sent

    def count_saved(self) -> None:
        """Count what was being saved as saved."""
        self.saved += utf16_length(self.saving)
        self.saving = ""
        while self.live and self.live[0][0] <= self.saved:
            self.live.popleft()


class _Entry:
    """Events that wait to be written, and what came of it."""

    __slots__ = ("error", "events", "promised", "written")

    def __init__(self, events: Sequence[Event], promised: bool) -> None:
        self.events = events
        self.promised = promised
        self.written = False
        self.error: Exception | None = None


class RunJournal:
    """The journal of one run in one process."""

    def __init__(
        self, records: Records, feed: Feed, run: Run, items: Sequence[Item], on_stale: Callable[[], None]
    ) -> None:
        """Take the items so far, and who is told when a take-over made this process's writes void."""
        self._records = records
        self._feed = feed
        self._run = run
        self._on_stale = on_stale
        self._guard = Guard(run.id, run.epoch)
        self._items = {item.id: item for item in items}
        self._listed: tuple[Item, ...] | None = None
        self._texts: dict[str, _Text] = {}
        # What readers are told next about an item, and what they were told that no event has.
        self._notes: dict[str, JsonObject] = {}
        self._told: dict[str, JsonObject] = {}
        self._waiting: list[_Entry] = []
        # Items that the next write creates first.
        self._soon: list[ItemCreated] = []
        # Those that count as written already.
        self._later: list[ItemCreated | ItemDelta | ItemCompleted] = []
        # Whose end is among them, and whether one of them is a promise.
        self._ended: set[str] = set()
        self._owed = False
        # Why what counts as written could not be.
        self._lost: Exception | None = None
        self._lock = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._keeper: asyncio.TimerHandle | None = None
        self._saver: asyncio.Task[None] | None = None
        self._creator: asyncio.Task[None] | None = None
        self._last_sent = 0.0
        # The newest event that is known to be kept.
        self._last_seq = max((item.position for item in items), default=0)
        self._last_saved = time.monotonic()
        feed.set_tail(run.conversation_id, self)

    @property
    def items(self) -> Sequence[Item]:
        """Return the conversation's items in order; the same tuple until one of them changes."""
        if self._listed is None:
            self._listed = tuple(self._items.values())
        return self._listed

    def item(self, item_id: str) -> Item:
        return self._items[item_id]

    def new(
        self, kind: ItemKind, *, status: ItemStatus = "streaming", text: str = "", data: JsonObject | None = None
    ) -> Item:
        run = self._run
        return new_item(run.conversation_id, kind, run_id=run.id, status=status, text=text, data=data)

    # --- durable writing ---

    async def write(self, *events: Event, promised: bool = True) -> None:
        """Append events in one transaction, after whatever text their items still hold back."""
        if self._lost is not None:
            raise self._lost
        entry = _Entry(events, promised)
        self._waiting.append(entry)
        try:
            async with self._lock:
                if not entry.written:
                    # What calls side by side write at this very moment goes along in the same transaction.
                    await asyncio.sleep(0)
                    await self._write_waiting()
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)
        if entry.error is not None:
            raise entry.error

    async def _write_waiting(self) -> None:
        """Append what this and other parts of the run wait to write: calls side by side share their transactions."""
        entries, self._waiting = self._waiting, []
        lost: Exception | None = PilothouseError("cancelled", "The run was stopped while this was being saved.")

        def kept(done: Sequence[Event]) -> None:
            nonlocal lost
            lost = None
            self._remember(done)

        try:
            batch = self._batch(entries)
            if batch:
                promised, self._owed = self._owed or any(entry.promised for entry in entries), False
                await self._append(batch, kept, promised=promised)
            else:
                lost = None
        except Exception as error:
            lost = error
        finally:
            # Whoever waits for the lock with one of these finds out what came of it.
            for entry in entries:
                entry.written, entry.error = True, lost

    def _batch(self, entries: Sequence[_Entry]) -> list[Event]:
        """Return the events of entries, after items that are still to be created and the text that items hold back."""
        begun = [*self._later, *self._soon]
        batch: list[Event] = [*begun]
        created = {event.item.id: place for place, event in enumerate(begun) if isinstance(event, ItemCreated)}
        # What comes after an end stays after it.
        created = {item_id: place for item_id, place in created.items() if item_id not in self._ended}
        self._later.clear()
        self._soon.clear()
        for event in (event for entry in entries for event in entry.events):
            if isinstance(event, ItemUpdated) and event.item_id in created:
                # Nobody has seen it yet: it begins as what it has become.
                place = created[event.item_id]
                batch[place] = ItemCreated(item=changed(cast(ItemCreated, batch[place]).item, event))
                self._notes.pop(event.item_id, None)
                continue
            if isinstance(event, ItemCompleted):
                batch += self._last_text(event.item_id)
            elif isinstance(event, ItemUpdated) and event.item_id in self._texts:
                # Whoever watches reads first what was said before it.
                self._send(event.item_id, self._texts[event.item_id])
            if isinstance(event, ItemUpdated | ItemCompleted):
                # The event says all of that, and a note that came after it would turn back time.
                self._notes.pop(event.item_id, None)
                self._told.pop(event.item_id, None)
            batch.append(event)
        return batch

    def soon(self, item: Item) -> None:
        self._soon.append(ItemCreated(item=item))
        asyncio.get_running_loop().call_later(limits.CREATED_SOON, self._create)

    def later(self, *events: Event, promised: bool = False) -> bool:
        created = {event.item.id: event.item for event in self._soon}
        ends: list[ItemDelta | ItemCompleted] = []
        for event in events:
            match event:
                case ItemCreated():
                    created[event.item.id] = event.item
                case ItemUpdated() if event.item_id in created:
                    created[event.item_id] = changed(created[event.item_id], event)
                case ItemDelta() | ItemCompleted() if event.item_id not in {*self._texts, *created}:
                    ends.append(event)
                case _:
                    return False
        if self._lock.locked():
            return False
        now = time.time()
        for place, item in enumerate(created.values(), self._last_seq + len(self._later) + 1):
            # The store gives it its place, which is this one unless others write meanwhile.
            self._later.append(
                ItemCreated(item=msgspec.structs.replace(item, position=place, created_at=now, updated_at=now))
            )
            self._notes.pop(item.id, None)
            self._fold(self._later[-1])
        for end in ends:
            self._later.append(msgspec.structs.replace(end, at=now))
            self._fold(self._later[-1])
            self._ended.add(end.item_id)
            self._notes.pop(end.item_id, None)
            self._told.pop(end.item_id, None)
        self._soon.clear()
        self._owed = self._owed or promised
        asyncio.get_running_loop().call_later(limits.CREATED_SOON, self._create)
        return True

    def _create(self) -> None:
        if (self._soon or self._later) and (self._creator is None or self._creator.done()):
            self._creator = asyncio.create_task(self._write_created(), name="journal-create")

    async def _write_created(self) -> None:
        try:
            await self.write(promised=False)
        except Exception as error:
            # What the run counts as written is not: whoever writes next is told why.
            self._lost = error
            _log.warning("what run %s did was not kept: %s", self._run.id, type(error).__name__)

    def _last_text(self, item_id: str) -> list[Event]:
        text = self._texts.get(item_id)
        if text is None:
            return []
        self._send(item_id, text)
        return [*_deltas(item_id, text.saved, "".join(text.unsaved))]

    def _remember(self, events: Sequence[Event]) -> None:
        for event in events:
            # Its text is there already.
            if isinstance(event, ItemDelta) and event.item_id in self._ended:
                continue
            self._fold(event)
            if isinstance(event, ItemCompleted):
                self._ended.discard(event.item_id)

    def _fold(self, event: Event) -> None:
        self._listed = None
        if isinstance(event, ItemCreated):
            self._items[event.item.id] = event.item
            if event.item.id in self._notes and self._timer is None:
                self._schedule()
        elif isinstance(event, ItemUpdated | ItemCompleted):
            item = changed(self._items[event.item_id], event)
            if isinstance(event, ItemCompleted):
                text = self._texts.pop(event.item_id, None)
                if text is not None:
                    item = msgspec.structs.replace(item, text=item.text + "".join(text.parts))
            self._items[item.id] = item
        elif isinstance(event, ItemDelta) and event.item_id not in self._texts:
            item = self._items[event.item_id]
            self._items[item.id] = msgspec.structs.replace(item, text=item.text + event.text)

    async def _append(
        self, events: Sequence[Event], kept: Callable[[Sequence[Event]], None], *, promised: bool
    ) -> None:
        """Append, waiting out a store that is away; `kept` is called exactly if the events were kept."""
        while True:
            appending = self._records.append(self._run.conversation_id, events, self._guard, promised=promised)
            attempt = asyncio.ensure_future(appending)
            try:
                await asyncio.shield(attempt)
            except asyncio.CancelledError:
                # What was handed to the store will be kept; our view must not differ from it.
                await asyncio.wait([attempt])
                if attempt.exception() is None:
                    kept(attempt.result())
                raise
            except PilothouseError as error:
                if error.code == "stale_run":
                    self._on_stale()
                    # The store answered. The notice goes now: the next write that succeeds may be far off.
                    store_is_well(self._feed)
                if error.code not in PASSING:
                    raise
                await wait_for_store(self._feed, error)
                done = await patiently(self._feed, lambda: self._find(events))
            else:
                done = attempt.result()
            if done:
                store_is_well(self._feed)
                kept(done)
                self._last_seq = done[-1].seq
                return

    async def _find(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return the events as they were kept, if they were: a connection can break after the store did its part."""
        where, after = self._run.conversation_id, self._last_seq
        while page := await self._records.events(where, after, limits.FEED_PAGE):
            first = next((kept.seq for kept in page if _same(event_decoder.decode(kept.json), events[0])), None)
            if first is not None:
                # What is kept together stands together.
                whole_batch = await self._records.events(where, first - 1, len(events))
                return [event_decoder.decode(kept.json) for kept in whole_batch]
            after = page[-1].seq
        return []

    # --- text ---

    def delta(self, item_id: str, text: str) -> None:
        held = self._texts.get(item_id)
        if held is None:
            held = self._texts[item_id] = _Text()
        # A model may write half of a character, which no JSON takes.
        held.fresh.append(whole(text))
        if self._timer is None:
            self._schedule()

    def note(self, item_id: str, data: JsonObject) -> None:
        self._notes[item_id] = self._notes.get(item_id, {}) | data
        if self._timer is None:
            self._schedule()

    async def attach(self, item_id: str, index: int, part: Part) -> None:
        kept = KeptResult(item_id, self._run.conversation_id, (part,), start=index)
        await patiently(self._feed, lambda: self._records.keep_result(kept))

    def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        # The first piece after a pause goes out at once; a steady stream is gathered.
        self._timer = loop.call_at(max(loop.time(), self._last_sent + limits.LIVE_FLUSH), self._flush)

    def _flush(self) -> None:
        self._timer = None
        self._last_sent = asyncio.get_running_loop().time()
        for item_id, text in self._texts.items():
            self._send(item_id, text)
        # What does not exist yet cannot be told about.
        for item_id in [item_id for item_id in self._notes if item_id in self._items]:
            data = self._notes.pop(item_id)
            self._told[item_id] = self._told.get(item_id, {}) | data
            self._feed.live(self._run.conversation_id, live_note(item_id, data))
        if self._keeper is None:
            self._keep()

    def _keep(self) -> None:
        """Save text that is due, and look again for the rest: it may be long before more follows it."""
        self._keeper = None
        if not any(text.unsaved for text in self._texts.values()):
            return
        left = self._last_saved + self._records.text_every - time.monotonic()
        if left <= 0 and (self._saver is None or self._saver.done()):
            self._saver = asyncio.create_task(self._save(), name="journal-save")
        else:
            self._keeper = asyncio.get_running_loop().call_later(max(left, limits.LIVE_FLUSH), self._keep)

    def _send(self, item_id: str, text: _Text) -> None:
        if text.fresh:
            for event in text.send(item_id):
                self._feed.live(self._run.conversation_id, event)

    async def _save(self) -> None:
        async with self._lock:
            self._last_saved = time.monotonic()
            batch: list[Event] = []
            for item_id, text in self._texts.items():
                if text.unsaved:
                    text.saving = "".join(text.unsaved)
                    text.unsaved.clear()
                    batch += _deltas(item_id, text.saved, text.saving)
            try:
                if batch:
                    await self._append(batch, lambda _events: self._count_saved(), promised=False)
            except PilothouseError as error:
                _log.warning("text of run %s was not saved: %s", self._run.id, error.message)
            finally:
                self._put_back()

    def _count_saved(self) -> None:
        for text in self._texts.values():
            text.count_saved()

    def _put_back(self) -> None:
        for text in self._texts.values():
            if text.saving:
                text.unsaved.insert(0, text.saving)
                text.saving = ""

    def sent(self, item_id: str) -> int:
        """Return how much of an item's text was sent live."""
        text = self._texts.get(item_id)
        return text.sent if text is not None else 0

    def unsaved(self) -> Sequence[FeedEvent]:
        """Return what readers were sent and the store does not have yet."""
        deltas = (event for text in self._texts.values() for _, event in text.live)
        return [*deltas, *(live_note(item_id, data) for item_id, data in self._told.items())]

    # --- the end ---

    def _rest(self) -> None:
        for timer in (self._timer, self._keeper):
            if timer is not None:
                timer.cancel()
        self._timer = self._keeper = None

    async def close(self) -> None:
        """Write the text that is left and stop."""
        self._rest()
        for item_id, text in self._texts.items():
            self._send(item_id, text)
        self._soon.clear()
        if self._later:
            await self.write(promised=False)
        working = [task for task in (self._saver, self._creator) if task is not None and not task.done()]
        if working:
            await asyncio.wait(working)
        await self._save()
        self.drop()

    def drop(self) -> None:
        """Stop without writing: another process has the run, or the store never came back."""
        self._rest()
        for task in (self._saver, self._creator):
            if task is not None:
                task.cancel()
        self._soon.clear()
        self._later.clear()
        self._texts.clear()
        self._feed.drop_tail(self._run.conversation_id, self)


def _deltas(item_id: str, offset: int, text: str) -> list[ItemDelta]:
    """Return text as deltas of which none is long: whoever is sent one has it in memory."""
    deltas = []
    for start in range(0, len(text), limits.DELTA_CHARS):
        piece = text[start : start + limits.DELTA_CHARS]
        deltas.append(ItemDelta(item_id=item_id, offset=offset, text=piece))
        offset += utf16_length(piece)
    return deltas


def _same(kept: Event, draft: Event) -> bool:
    if isinstance(kept, ItemCreated) and isinstance(draft, ItemCreated):
        return kept.item.id == draft.item.id
    return msgspec.structs.replace(kept, seq=0, at=0.0) == msgspec.structs.replace(draft, seq=0, at=0.0)
