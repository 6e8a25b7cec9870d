"""Runs in the database: who holds one, how it ends, and what another process can no longer do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa

from pilothouse.store.opening import open_store
from pilothouse.store.store import Store
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemDelta
from pilothouse.types.feed import Guard
from pilothouse.types.items import Item
from pilothouse.types.runs import Run
from tests.store.conftest import Published
from tests.support.records import OWNER, a_conversation, a_posting, an_item
from tests.support.waiting import until


async def a_running(store: Store) -> Run:
    conversation = await store.add_conversation(a_conversation())
    await store.post_message(a_posting(conversation.id))
    run = await store.claim_next(conversation.id, "p_one")
    assert run is not None
    return run


def ended(run: Run, left: Sequence[Item]) -> tuple[Run, list[Event]]:
    events: list[Event] = [ItemCompleted(item_id=item.id, status="cancelled") for item in left]
    return msgspec.structs.replace(run, status="cancelled", process=None), events


async def test_a_run_ends_together_with_its_open_items_or_not_at_all(store: Store) -> None:
    run = await a_running(store)
    item = an_item(run.conversation_id, run_id=run.id)
    delta = ItemDelta(item_id=item.id, offset=0, text="so far")
    await store.append(run.conversation_id, [ItemCreated(item=item), delta], Guard(run.id, run.epoch))
    before = (await store.events(run.conversation_id, 0, 100))[-1].seq
    assert await store.settle_run(run.id, lambda *_: None) is None

    def broken(now: Run, left: Sequence[Item]) -> tuple[Run, list[Event]]:
        assert [one.text for one in left] == ["so far"]
        return ended(now, [*left, an_item("elsewhere")])

    with pytest.raises(PilothouseError):
        await store.settle_run(run.id, broken)
    assert (await store.events(run.conversation_id, 0, 100))[-1].seq == before
    done = await store.settle_run(run.id, ended)
    assert done is not None
    assert (await store.run(OWNER, run.id)).status == "cancelled"
    assert ((await store.item(OWNER, item.id)).status, (await store.item(OWNER, item.id)).text) == (
        "cancelled",
        "so far",
    )


async def test_a_run_that_waits_for_the_person_keeps_its_place(store: Store) -> None:
    run = await a_running(store)
    await store.change_run(run.id, lambda now: msgspec.structs.replace(now, status="waiting", process=None))
    second = await store.post_message(a_posting(run.conversation_id))
    assert await store.claim_next(run.conversation_id, "p_one") is None
    await store.settle_run(run.id, ended)
    begun = await store.claim_next(run.conversation_id, "p_one")
    assert begun is not None
    assert begun.id == second.run_id


async def test_only_its_own_process_finds_a_run_that_it_perhaps_holds(store: Store) -> None:
    run = await a_running(store)
    assert await store.claim_next(run.conversation_id, "p_one") is None
    assert await store.claim_next(run.conversation_id, "p_two", perhaps_held=True) is None
    assert await store.claim_next(run.conversation_id, "p_one", perhaps_held=True) == run


async def test_what_is_begun_is_the_message_that_came_first_whatever_the_clock_said(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = await store.add_conversation(a_conversation())
    posted = []
    for at in (2000.0, 1000.0, 1000.0, 3000.0):
        monkeypatch.setattr("pilothouse.store.writer.time.time", lambda at=at: at)
        posted.append((await store.post_message(a_posting(conversation.id))).run_id)
    begun = []
    while (run := await store.claim_next(conversation.id, "p_one")) is not None:
        begun.append(run.id)
        await store.settle_run(run.id, ended)
    assert begun == posted


async def test_a_run_that_goes_back_into_the_queue_is_before_the_messages_that_came_after_it(store: Store) -> None:
    run = await a_running(store)
    later = await store.post_message(a_posting(run.conversation_id))
    await store.change_run(run.id, lambda now: msgspec.structs.replace(now, status="queued", process=None))
    claims = await asyncio.gather(*(store.claim_next(run.conversation_id, f"p_{n}") for n in range(4)))
    assert [claimed.id for claimed in claims if claimed is not None] == [run.id]
    await store.settle_run(run.id, ended)
    following = await store.claim_next(run.conversation_id, "p_two")
    assert following is not None
    assert following.id == later.run_id


def back_in_the_queue(run: Run, _left: Sequence[Item]) -> tuple[Run, list[Event]]:
    return msgspec.structs.replace(run, status="queued", process=None), []


async def test_all_that_a_dead_process_held_is_settled_together_and_the_process_is_forgotten(store: Store) -> None:
    held = [await a_running(store) for _ in range(3)]
    await store.beat("p_one")
    assert [process.id for process in await store.processes()] == ["p_one"]
    taken = await store.take_over("p_one", back_in_the_queue)
    assert {run.id for run in taken} == {run.id for run in held}
    assert {run.status for run in taken} == {"queued"}
    assert await store.processes() == []
    assert await store.take_over("p_one", back_in_the_queue) == []


async def test_a_process_that_holds_runs_and_never_said_that_it_lives_is_known(store: Store) -> None:
    await a_running(store)
    assert [(process.id, process.seen_at) for process in await store.processes()] == [("p_one", 0.0)]


async def test_a_writer_that_waits_while_its_run_is_taken_over_is_refused(
    tmp_path: Path, postgres_url: str, published: Published
) -> None:
    opened = open_store(tmp_path, postgres_url, published.take)
    engine = opened.database.engine
    try:
        run = await a_running(opened.store)
        with engine.begin() as other:
            statement = sa.text("UPDATE conversations SET last_seq = last_seq WHERE id = :id")
            other.execute(statement, {"id": run.conversation_id})
            item = an_item(run.conversation_id)
            late = asyncio.ensure_future(
                opened.store.append(run.conversation_id, [ItemCreated(item=item)], Guard(run.id, run.epoch))
            )
            await asyncio.to_thread(until, lambda: _somebody_waits(engine), "the writer to wait for the lock")
            other.execute(sa.text("UPDATE runs SET epoch = epoch + 1 WHERE id = :id"), {"id": run.id})
        with pytest.raises(PilothouseError) as refused:
            await late
        assert refused.value.code == "stale_run"
    finally:
        await opened.close()


def _somebody_waits(engine: sa.Engine) -> bool:
    with engine.connect() as connection:
        return bool(connection.execute(sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar())


async def test_the_same_message_sent_to_two_processes_at_once_is_kept_once(tmp_path: Path, postgres_url: str) -> None:
    stores = [open_store(tmp_path, postgres_url, lambda *_: None) for _ in range(2)]
    try:
        conversation = await stores[0].store.add_conversation(a_conversation())
        posts = [
            store.store.post_message(a_posting(conversation.id, key=f"k{number}"))
            for number in range(10)
            for store in stores
        ]
        accepted = await asyncio.gather(*posts)
        assert len({one.run_id for one in accepted}) == 10
    finally:
        for store in stores:
            await store.close()
