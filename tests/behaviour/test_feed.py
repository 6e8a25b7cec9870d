"""Readers: each kept event once, joined anywhere, the same text for everyone, and no one who slows the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest

from pilothouse.types import limits
from pilothouse.types.api import ConversationPatch, ListFrame, NoticeFrame
from pilothouse.types.feed import Lagged
from pilothouse.types.host import FeedBatch
from pilothouse.wiring import open_host
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.feed_reader import FeedReader
from tests.support.waiting import eventually

WORDS = "Grüße aus dem 🚀: " + " ".join(f"w{number}" for number in range(120))
STREAM = [{"thinking": "Hm. " * 8, "pieces": 3, "every": 0.004}, {"text": WORDS, "pieces": 5, "every": 0.006}]
CALL = {"call": "think", "arguments": {"thoughts": "x"}}


async def check_same(chat: Chat, folded: FeedReader) -> None:
    """A reader that saw the end has exactly what a fresh snapshot shows."""
    snapshot = await chat.snapshot()
    assert folded.cursor == snapshot.last_seq
    assert folded.list() == list(snapshot.items)
    assert {run.id: run for run in snapshot.runs}.items() <= folded.runs.items()


@pytest.mark.case("F-39")
async def test_readers_from_the_start_and_from_the_middle_end_with_the_same_text(home: Path) -> None:
    async with open_chat(home, [[*STREAM, CALL], STREAM]) as chat:
        sent = await chat.send()
        early = asyncio.ensure_future(chat.follow(sent.run_id))
        joined: list[asyncio.Future[FeedReader]] = []
        for word in ("w5", "w40", "w90"):
            await chat.until_streaming(word)
            snapshot = await chat.snapshot()
            joined.append(asyncio.ensure_future(chat.follow(sent.run_id, snapshot.last_seq, FeedReader(snapshot))))
        for reader in (early, *joined):
            folded = await reader
            assert folded.live > 0, "text is sent before it is kept"
            await check_same(chat, folded)
        assert early.result().numbers == list(range(1, early.result().cursor + 1))


@pytest.mark.case("F-39")
async def test_a_reader_that_comes_back_with_its_cursor_misses_nothing_and_gets_nothing_twice(home: Path) -> None:
    async with open_chat(home, [STREAM]) as chat:
        sent = await chat.send()
        folded = FeedReader()
        async with asyncio.timeout(PATIENCE):
            while not folded.ended(sent.run_id):
                async with aclosing(await chat.api.conversations.events(ME, chat.id, folded.cursor)) as feed:
                    for _ in range(3):
                        folded.take(await anext(feed))
                        if folded.ended(sent.run_id):
                            break
        await check_same(chat, folded)


async def test_what_a_model_says_before_a_pause_is_kept_and_told_during_it(home: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    held = {"until": str(go)}
    turn = ["Let me see. ", {"wait": PATIENCE, **held}, {**CALL, "pieces": 5, "every": PATIENCE, **held}]
    async with open_chat(home, [turn, "Done."]) as chat:
        sent = await chat.send()

        async def kept() -> bool:
            return await chat.texts("response") == ["Let me see. "]

        await eventually(kept, "the text to be kept", PATIENCE / 2)
        go.touch()
        await chat.settled(sent.run_id)
    await asyncio.to_thread(go.unlink)
    async with open_chat(home, [turn[2:], "Done."]) as chat:
        sent = await chat.send()
        async with asyncio.timeout(PATIENCE / 2), aclosing(await chat.api.conversations.events(ME, chat.id, 0)) as feed:
            async for batch in feed:
                if any(b'"argumentBytes":5' in event.json for event in batch):
                    break
        go.touch()
        await chat.settled(sent.run_id)


async def test_each_kept_event_comes_once_while_many_write(home: Path) -> None:
    async with open_chat(home, [STREAM]) as chat:
        sent = await chat.send()
        readers = [asyncio.ensure_future(chat.follow(sent.run_id)) for _ in range(3)]
        names = [f"Name {number}" for number in range(40)]
        await asyncio.gather(
            *(chat.api.conversations.update(ME, chat.id, ConversationPatch(title=name)) for name in names)
        )
        for reader in readers:
            folded = await reader
            assert folded.numbers == list(range(1, folded.cursor + 1))
        assert await chat.texts("response") == [WORDS]


async def test_a_reader_on_another_process_gets_the_same_from_the_store(home: Path, postgres_url: str) -> None:
    async with (
        open_chat(home, [STREAM], database_url=postgres_url) as chat,
        open_host(home.parent / "other", postgres_url) as other,
    ):
        there = Chat(other, chat.id, chat.script)
        sent = await chat.send()
        folded, here = await asyncio.gather(there.follow(sent.run_id), chat.follow(sent.run_id))
        await check_same(there, folded)
        await check_same(chat, here)


@pytest.mark.case("F-47")
async def test_a_reader_that_knows_more_than_is_kept_is_told_to_look_again(home: Path) -> None:
    async with open_chat(home, [STREAM]) as chat:
        last = (await chat.snapshot()).last_seq
        # A power cut took the end of a streaming answer, or an older copy of everything came back.
        async with aclosing(await chat.api.conversations.events(ME, chat.id, last + 1)) as ahead:
            with pytest.raises(Lagged):
                await asyncio.wait_for(anext(ahead), PATIENCE)


@pytest.mark.case("F-40")
async def test_a_reader_that_stops_reading_is_told_to_look_again_and_slows_nobody(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FEED_QUEUE", 20)
    async with open_chat(home, [STREAM]) as chat:
        async with aclosing(await chat.api.conversations.events(ME, chat.id, 0)) as suspended:
            await anext(suspended)
            waiting = asyncio.ensure_future(anext(suspended))
            sent = await chat.send()
            # It has seen the beginning live, and now its tab is suspended.
            await waiting
            assert (await chat.settled(sent.run_id)).status == "completed"
            with pytest.raises(Lagged):
                await asyncio.wait_for(anext(suspended), PATIENCE)
        snapshot = await chat.snapshot()
        again = FeedReader(snapshot)
        async with aclosing(await chat.api.conversations.events(ME, chat.id, snapshot.last_seq)) as feed:
            await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Still here"))
            async with asyncio.timeout(PATIENCE):
                while not again.numbers:
                    again.take(await anext(feed))


@pytest.mark.case("F-40")
async def test_readers_that_stop_reading_hold_a_bound_of_bytes_and_then_read_everything_once(home: Path) -> None:
    text = "A line of a long answer. " * 200_000
    async with open_chat(home, [[{"text": text, "pieces": 40_000, "every": 0.003}]]) as chat, AsyncExitStack() as stack:
        readers = [
            await stack.enter_async_context(aclosing(await chat.api.conversations.events(ME, chat.id, 0)))
            for _ in range(20)
        ]
        folded = [FeedReader() for _ in readers]
        for reader, what in zip(readers, folded, strict=True):
            what.take(await anext(reader))
        # Each waits for the next, gets it, and then looks no more.
        waiting = [asyncio.ensure_future(anext(reader)) for reader in readers]
        sent = await chat.send()
        for batch, what in zip(await asyncio.gather(*waiting), folded, strict=True):
            what.take(batch)
        assert (await chat.settled(sent.run_id)).status == "completed"
        assert _held(readers) <= limits.FEED_BYTES, "what they wait for is the same for all"
        async with asyncio.timeout(PATIENCE):
            for reader, what in zip(readers[:2], folded, strict=False):
                while not what.ended(sent.run_id):
                    batch = await anext(reader)
                    assert sum(len(event.json) for event in batch[:-1]) < limits.FEED_BATCH_BYTES
                    what.take(batch)
        for what in folded[:2]:
            assert what.numbers == list(range(1, what.cursor + 1))
            assert what.list()[-1].text == text


def _held(readers: Sequence[AsyncGenerator[FeedBatch, None]]) -> int:
    """Return how many bytes of events the suspended readers hold, each event counted once."""
    held: dict[int, int] = {}
    for reader in readers:
        place = reader.ag_frame.f_locals["reader"]  # type: ignore[attr-defined]
        held |= {id(event): len(event.json) for event in place.queue}
    return sum(held.values())


async def test_of_what_waits_for_a_reader_of_the_list_only_the_newest_counts(home: Path) -> None:
    async with open_chat(home) as chat, aclosing(chat.api.list_changes(ME)) as changes:
        first = asyncio.ensure_future(anext(changes))
        for number in range(50):
            await chat.api.conversations.update(ME, chat.id, ConversationPatch(title=f"Name {number}"))
        await first

        async def told() -> bool:
            frame = await anext(changes)
            return isinstance(frame, ListFrame) and frame.conversation.title == "Name 49"

        seen = 1
        async with asyncio.timeout(PATIENCE):
            while not await told():
                seen += 1
        assert seen < 10


async def test_the_list_tells_of_new_titles_and_of_what_runs(home: Path) -> None:
    async with open_chat(home) as chat, aclosing(chat.api.list_changes(ME)) as changes:
        waiting = asyncio.ensure_future(anext(changes))
        await chat.say("A title to be")
        seen: list[tuple[str, str | None]] = []
        async with asyncio.timeout(PATIENCE):
            while not seen or seen[-1] != ("A title to be", "completed"):
                frame = await waiting
                assert not isinstance(frame, NoticeFrame)
                seen.append((frame.conversation.title, frame.conversation.activity))  # type: ignore[union-attr]
                waiting = asyncio.ensure_future(anext(changes))
        waiting.cancel()
        await asyncio.wait([waiting])
