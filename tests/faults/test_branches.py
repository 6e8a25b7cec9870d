"""Branches while things go wrong: a reader who comes back, a full disk, a process that was taken for dead."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from pilothouse.types import limits
from pilothouse.types.api import Comparison, NewMessage
from pilothouse.types.branch_views import BranchChoice, Retry
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCreated
from pilothouse.types.feed import Guard
from tests.support.branch_chats import all_items, refusal_of
from tests.support.chats import ME, PATIENCE, Chat, open_chat, wait_for_runs
from tests.support.databases import PageLimit
from tests.support.feed_reader import FeedReader
from tests.support.records import an_item


@pytest.fixture(params=["sqlite", "postgresql"])
async def chat(request: pytest.FixtureRequest, home: Path) -> AsyncIterator[Chat]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    async with open_chat(home, ["One.", "Two.", "Three."], database_url=url) as chat:
        yield chat
        await wait_for_runs(chat)


async def make_branches(chat: Chat) -> None:
    """Make branches in every way, and choose one."""
    first = await chat.send("First")
    await chat.settled(first.run_id)
    edited = await chat.send("First b", instead_of=first.item_id)
    retried = await chat.api.branches.retry(ME, edited.run_id, Retry())
    wish = Comparison(message=NewMessage(text="Which?"), model_ids=models(chat))
    compared = (await chat.api.branches.compare(ME, chat.id, wish)).accepted
    await chat.api.branches.choose(ME, chat.id, BranchChoice(branch=0))
    for each in (edited, retried, *compared):
        assert (await chat.settled(each.run_id)).status == "completed"


def models(chat: Chat) -> tuple[str, ...]:
    other = chat.script.parent / "other.json"
    other.write_text('{"turns": ["Other one.", "Other two.", "Other three."]}')
    return (f"scripted:{chat.script}", f"scripted:{other}")


async def test_a_reader_who_comes_back_after_every_event_has_all_branches_and_no_gap(chat: Chat) -> None:
    folded, numbers = FeedReader(), list[int]()
    done = asyncio.create_task(make_branches(chat))
    async with asyncio.timeout(PATIENCE):
        while not done.done():
            read = asyncio.create_task(_read_a_little(chat, folded, numbers))
            await asyncio.wait({read, done}, return_when=asyncio.FIRST_COMPLETED)
            if not read.done():
                read.cancel()
                await asyncio.wait({read})
        await done
        while folded.cursor < (await chat.snapshot()).last_seq:
            await _read_a_little(chat, folded, numbers)
    assert numbers == list(range(1, len(numbers) + 1))
    assert folded.list() == list(await all_items(chat))
    assert {item.branch for item in folded.list()} == {0, 1, 2, 3}


async def _read_a_little(chat: Chat, folded: FeedReader, numbers: list[int]) -> None:
    """Come back, read what is new, and leave."""
    async with aclosing(await chat.api.conversations.events(ME, chat.id, folded.cursor)) as feed:
        async for batch in feed:
            kept = [event for event in batch if event.seq]
            numbers += [event.seq for event in kept]
            folded.take(batch)
            if kept:
                return


async def test_no_half_branch_is_left_when_the_disk_is_full(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STORE_RETRY", 0.05)
    async with open_chat(home, ["One.", "Two."]) as chat:
        first = await chat.send("First")
        await chat.settled(first.run_id)
        before = (await chat.snapshot()).last_seq
        pages = PageLimit(monkeypatch)
        pages.fill()
        wish = Comparison(message=NewMessage(text="More " * 10_000), model_ids=models(chat))
        tries = (
            chat.send("More " * 10_000, instead_of=first.item_id, idempotency_key="edit"),
            chat.api.branches.compare(ME, chat.id, wish),
        )
        for each in tries:
            assert (await refusal_of(each)).code == "disk_full"
        snapshot = await chat.snapshot()
        assert (snapshot.last_seq, snapshot.branches, snapshot.branch) == (before, (), 0)
        pages.free()
        edited = await chat.send("More " * 10_000, instead_of=first.item_id, idempotency_key="edit")
        assert edited.branch == 1
        assert (await chat.settled(edited.run_id)).status == "completed"


async def test_a_process_that_was_taken_for_dead_writes_nothing_on_its_branch(chat: Chat) -> None:
    first = await chat.send("First")
    await chat.settled(first.run_id)
    records = chat.host.executor._parts.records
    edited = await chat.send("First b", instead_of=first.item_id)
    run = await chat.settled(edited.run_id)
    before = (await chat.snapshot()).last_seq
    late = an_item(chat.id, "response", "completed", "Late words.", run.id)
    with pytest.raises(PilothouseError) as raised:
        await records.append(chat.id, [ItemCreated(item=late)], Guard(run.id, run.epoch - 1))
    assert raised.value.code == "stale_run"
    assert (await chat.snapshot()).last_seq == before
    # Whoever holds it writes where the run stands, whichever branch the person looks at.
    await chat.api.branches.choose(ME, chat.id, BranchChoice(branch=0))
    await records.append(chat.id, [ItemCreated(item=late)], Guard(run.id, run.epoch))
    (kept,) = [item for item in await all_items(chat) if item.text == "Late words."]
    assert kept.branch == 1
