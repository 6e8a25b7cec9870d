"""Text that one process streams reaches readers in another before it is kept: exact, and nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from pilothouse.store.postgres_notify import Wakeups
from pilothouse.store.store import Store
from pilothouse.timeline.feed import Feed
from pilothouse.timeline.remote_text import RemoteText
from pilothouse.types import limits
from pilothouse.types.api import NewConversation
from pilothouse.types.events import ItemCompleted, ItemCreated, ItemDelta, event_decoder
from pilothouse.types.feed import FeedEvent
from pilothouse.types.json import encode
from pilothouse.wiring import OpenHost, open_host
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.feed_reader import FeedReader
from tests.support.records import an_item
from tests.support.replicas import set_master_key
from tests.support.waiting import eventually

WORDS = "Grüße aus dem 🚀: " + " ".join(f"w{number}" for number in range(150))
STREAM = [{"text": WORDS, "pieces": 4, "every": 0.03}]


@pytest.fixture(autouse=True)
def one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_master_key(monkeypatch, tmp_path)


@asynccontextmanager
async def two_processes(home: Path, url: str) -> AsyncIterator[tuple[Chat, OpenHost]]:
    """A chat with a long answer, and another process on its database."""
    async with (
        open_chat(home, [STREAM], database_url=url) as chat,
        open_host(home.parent / "other", url) as other,
    ):
        yield chat, other


class Reader:
    """A reader at a host, with everything in the order in which it came."""

    def __init__(self, host: OpenHost, conversation_id: str) -> None:
        self._host = host
        self._id = conversation_id
        self.folded = FeedReader()
        # The ends of texts as they came, live and kept.
        self.ends: list[tuple[bool, int]] = []
        self.started = asyncio.Event()

    async def until_ended(self, run_id: str) -> None:
        async with (
            asyncio.timeout(PATIENCE),
            aclosing(await self._host.api.conversations.events(ME, self._id, 0)) as feed,
        ):
            async for batch in feed:
                self._note(batch)
                self.folded.take(batch)
                self.started.set()
                if self.folded.ended(run_id):
                    return

    def _note(self, batch: Sequence[FeedEvent]) -> None:
        for sent in batch:
            event = event_decoder.decode(sent.json)
            if isinstance(event, ItemDelta):
                self.ends.append((sent.seq == 0, event.offset + len(event.text.encode("utf-16-le")) // 2))


async def test_a_reader_elsewhere_has_text_before_it_is_kept_and_exactly_once(home: Path, postgres_url: str) -> None:
    async with two_processes(home, postgres_url) as (chat, other):
        reader = Reader(other, chat.id)
        sent = await chat.send()
        reading = asyncio.ensure_future(reader.until_ended(sent.run_id))
        await chat.settled(sent.run_id)
        await reading
        assert await chat.texts("response") == [WORDS]
        assert [item.text for item in reader.folded.list() if item.kind == "response"] == [WORDS]
    # Text came live, and further than what had been kept by then.
    kept, ahead = 0, 0
    for live, end in reader.ends:
        ahead += live and end > kept
        kept = kept if live else max(kept, end)
    assert reader.folded.live > 5
    assert ahead > 5
    assert reader.folded.numbers == list(range(1, reader.folded.cursor + 1))


async def test_who_has_had_a_text_does_not_read_it_in_the_store(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Kept so often that reading it each time would show.
    monkeypatch.setattr(limits, "DURABLE_FLUSH_SHARED", 0.02)
    read: list[str] = []
    events = Store.events

    async def noting(self: Store, conversation_id: str, after: int, most: int, size: int) -> Sequence[FeedEvent]:
        found = await events(self, conversation_id, after, most, size)
        read.extend(event.kind for event in found)
        return found

    async with two_processes(home, postgres_url) as (chat, other):
        reader = Reader(other, chat.id)
        sent = await chat.send()
        reading = asyncio.ensure_future(reader.until_ended(sent.run_id))
        await chat.until_streaming("w10")
        monkeypatch.setattr(Store, "events", noting)
        await chat.until_streaming("w140")
        in_between = read.count("item.delta")
        await reading
    kept = sum(not live for live, _ in reader.ends)
    assert kept > 10
    assert in_between <= kept / 5
    assert reader.folded.numbers == list(range(1, reader.folded.cursor + 1))
    assert [item.text for item in reader.folded.list() if item.kind == "response"] == [WORDS]


async def test_readers_who_are_woken_together_read_the_store_once() -> None:
    asked: list[int] = []
    feed, go_on = Feed(), asyncio.Event()

    class Records:
        async def events(self, _id: str, after: int, _most: int, _size: int) -> Sequence[FeedEvent]:
            asked.append(after)
            await go_on.wait()
            return [created()[1]] if after == 0 else []

    async def first() -> Sequence[FeedEvent]:
        async with aclosing(feed.read(cast("Store", Records()), "c_1", 0)) as batches:
            return await anext(batches)

    async def begun(count: int) -> list[asyncio.Task[Sequence[FeedEvent]]]:
        readers = [asyncio.create_task(first()) for _ in range(count)]
        for _ in range(9):
            await asyncio.sleep(0)
        return readers

    leaving, *staying = await begun(5)
    assert asked == [0]
    # Who reads for all may leave, and the others do not with it.
    leaving.cancel()
    staying += await begun(2)
    assert asked == [0, 0]
    # What was written since that began must not be missed.
    feed.wake("c_1")
    staying += await begun(2)
    assert asked == [0, 0, 0]
    go_on.set()
    for reader in staying:
        assert [event.seq for event in await reader] == [1]
    assert not feed._reads._begun


async def test_who_comes_in_the_middle_misses_nothing(home: Path, postgres_url: str) -> None:
    async with two_processes(home, postgres_url) as (chat, other):
        sent = await chat.send()
        readers: list[asyncio.Future[None]] = []
        met: list[Reader] = []
        for word in ("w10", "w60", "w110"):
            await chat.until_streaming(word)
            met.append(Reader(other, chat.id))
            readers.append(asyncio.ensure_future(met[-1].until_ended(sent.run_id)))
        await asyncio.gather(*readers)
        # Folding fails on any gap; here, that the end is the whole.
        for reader in met:
            assert [item.text for item in reader.folded.list() if item.kind == "response"] == [WORDS]


async def test_nothing_is_told_to_other_processes_while_nobody_reads_there(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared: list[str] = []
    share = Wakeups._share

    def noting(self: Wakeups, conversation_id: str, event: FeedEvent) -> None:
        shared.append(conversation_id)
        share(self, conversation_id, event)

    monkeypatch.setattr(Wakeups, "_share", noting)
    async with two_processes(home, postgres_url) as (chat, _):
        await chat.say()
    assert shared == []


async def test_what_a_process_tells_others_is_no_news_to_itself(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    hear = Wakeups._hear

    def noting(self: Wakeups, note: object) -> None:
        heard.append(str(note))
        hear(self, note)  # type: ignore[arg-type]

    monkeypatch.setattr(Wakeups, "_hear", noting)
    async with open_chat(home, database_url=postgres_url) as chat:
        await chat.say()
        async with open_host(home.parent / "other", postgres_url) as other:
            made = await other.api.conversations.create(ME, NewConversation())

            async def told() -> bool:
                return any(made.id in note for note in heard)

            await eventually(told, "something from the other")
        assert not any(chat.id in note for note in heard)


def delta(item_id: str, offset: int, text: str, seq: int = 0) -> FeedEvent:
    return FeedEvent(seq, "item.delta", encode(ItemDelta(seq=seq, item_id=item_id, offset=offset, text=text)))


def created(text: str = "") -> tuple[str, FeedEvent]:
    item = an_item("c_1", text=text)
    return item.id, FeedEvent(1, "item.created", encode(ItemCreated(seq=1, item=item)))


def test_a_piece_waits_until_all_before_it_is_kept() -> None:
    remote = RemoteText()
    item_id, event = created()
    first = delta(item_id, 0, "one ")
    assert not remote.hear(first), "nobody here knows the item yet"
    assert remote.unsaved() == []
    remote.see([event])
    assert remote.unsaved() == [first]
    second = delta(item_id, 4, "two ")
    assert remote.hear(second)
    remote.see([delta(item_id, 0, "one ", seq=2)])
    assert remote.unsaved() == [second]


def test_after_a_piece_that_got_lost_the_next_waits_for_what_is_kept() -> None:
    remote = RemoteText()
    item_id, event = created()
    remote.see([event])
    assert remote.hear(delta(item_id, 0, "one "))
    third = delta(item_id, 8, "three ")
    assert not remote.hear(third)
    assert remote.unsaved() == []
    remote.see([delta(item_id, 0, "one two ", seq=2)])
    assert remote.unsaved() == [third]
    assert remote.hear(delta(item_id, 14, "four"))


def test_what_is_kept_was_had_by_readers_only_if_nothing_of_it_got_lost() -> None:
    remote = RemoteText()
    item_id, event = created()
    assert not remote.hear_kept(delta(item_id, 4, "", seq=2)), "nobody here knows the item yet"
    remote.see([event])
    assert remote.hear(delta(item_id, 0, "one "))
    assert remote.hear(delta(item_id, 4, "two "))
    assert remote.hear_kept(delta(item_id, 4, "", seq=2))
    assert [piece.json for piece in remote.unsaved()] == [delta(item_id, 4, "two ").json]
    assert not remote.hear_kept(delta(item_id, 14, "", seq=3)), "more is kept than was heard"
    assert not remote.hear(delta(item_id, 14, "four "))
    assert not remote.hear_kept(delta(item_id, 19, "", seq=4)), "a piece before it got lost"
    remote.see([delta(item_id, 4, "two three four ", seq=3)])
    assert remote.hear(delta(item_id, 19, "five"))
    assert remote.hear_kept(delta(item_id, 23, "", seq=5))


def test_what_comes_after_the_end_of_an_item_is_given_to_nobody() -> None:
    remote = RemoteText()
    item_id, event = created()
    remote.see([event])
    done = encode(ItemCompleted(seq=2, item_id=item_id, status="completed"))
    remote.see([FeedEvent(2, "item.completed", done)])
    assert not remote.hear(delta(item_id, 0, "late"))
    assert remote.unsaved() == []


def test_what_is_held_is_bounded() -> None:
    remote = RemoteText()
    item_id, event = created()
    remote.see([event])
    size = 1000
    for number in range(1000):
        remote.hear(delta(item_id, number * size, "x" * size))
    assert sum(len(piece.json) for piece in remote.unsaved()) <= limits.LIVE_KEPT_BYTES + 2 * size
    for number in range(2 * limits.LIVE_ITEMS):
        remote.hear(delta(f"i_{number}", 0, "x"))
    assert len(remote._pieces) <= limits.LIVE_ITEMS
