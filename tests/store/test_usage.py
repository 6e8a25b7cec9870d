"""What was used is counted by day with the item that says it: once, in its transaction, and it outlives it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.store import Store
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemUpdated
from pilothouse.types.feed import Guard
from pilothouse.types.items import ItemKind
from pilothouse.types.retention import Retention
from pilothouse.types.usage import DayUsage, TokenUsage, Used, day_of
from tests.store.older import BEFORE_ESTIMATES, BEFORE_USAGE
from tests.support.noon import DAY, TODAY, let_it_be_noon
from tests.support.records import OWNER, a_conversation, a_posting, an_item

USAGE = {"input": 100, "output": 20, "cacheRead": 60, "cacheWrite": 5, "reasoning": 3}


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """No day ends during a test."""
    let_it_be_noon(monkeypatch)


async def counted(store: Store, owner: str = OWNER) -> dict[str, DayUsage]:
    """Return what was used, by model; today's, or where a test goes back in time, that day's."""
    return {row.model: row for row in (await store.usage_since(owner, "2000-01-01")).rows}


def ended(item_id: str, **data: Any) -> ItemCompleted:
    return ItemCompleted(item_id=item_id, status="completed", data={"model": "m", "usage": USAGE, **data})


async def answer(store: Store, conversation_id: str, kind: ItemKind = "response", **data: Any) -> str:
    """Keep an item for which a model was asked, and return its id."""
    item = an_item(conversation_id, kind)
    await store.append(conversation_id, [ItemCreated(item=item)], None)
    await store.append(conversation_id, [ended(item.id, **data)], None)
    return item.id


async def test_answers_summaries_and_compactions_are_added_up_by_day_and_model(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    kinds: tuple[ItemKind, ...] = ("response", "tool_summary", "compaction")
    for kind in kinds:
        await answer(store, conversation.id, kind, cost=0.5)
    await answer(store, conversation.id, model="other")
    found = await counted(store)
    assert found["m"] == DayUsage(
        day=TODAY,
        model="m",
        requests=3,
        input=300,
        output=60,
        cache_read=180,
        cache_write=15,
        cost=1.5,
        cost_known_for=3,
    )
    assert (found["other"].requests, found["other"].cost, found["other"].cost_known_for) == (1, None, 0)
    assert (await store.spent_on(OWNER, TODAY)).cost == 1.5
    assert not await counted(store, "someone else")


async def test_what_is_written_again_counts_once(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    item = an_item(conversation.id)
    created = ItemCreated(item=item)
    await store.append(conversation.id, [created], None)
    await store.append(conversation.id, [ended(item.id)], None)
    again: tuple[Event, ...] = (created, ended(item.id))
    for event in again:
        with pytest.raises(PilothouseError):
            await store.append(conversation.id, [event], None)
    # An answer that goes on is told so after its end, and says all of it again.
    await store.append(conversation.id, [ItemUpdated(item_id=item.id, data={"usage": USAGE, "goOn": True})], None)
    assert (await counted(store))["m"].requests == 1


async def test_what_is_refused_counts_nothing_and_takes_no_other_down(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    await store.post_message(a_posting(conversation.id))
    run = await store.claim_next(conversation.id, "p_1")
    assert run is not None
    items = [an_item(conversation.id, run_id=run.id) for _ in range(2)]
    await store.append(conversation.id, [ItemCreated(item=item) for item in items], None)
    # Of one group: the stale one takes the whole transaction back, and each is tried by itself.
    stale, good = (Guard(run.id, run.epoch - 1), Guard(run.id, run.epoch))
    outcomes = await asyncio.gather(
        store.append(conversation.id, [ended(items[0].id)], good),
        store.append(conversation.id, [ended(items[1].id)], stale),
        return_exceptions=True,
    )
    assert [isinstance(one, PilothouseError) for one in outcomes] == [False, True]
    assert (await counted(store))["m"].requests == 1


async def test_it_is_counted_in_the_transaction_that_keeps_the_answer(
    opened: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened.store
    conversation = await store.add_conversation(a_conversation())
    item = an_item(conversation.id)
    await store.append(conversation.id, [ItemCreated(item=item)], None)
    promises: list[bool] = []
    write = opened.database.write

    def counting(work: Any, *, promised: bool = True) -> Any:
        promises.append(promised)
        return write(work, promised=promised)

    monkeypatch.setattr(opened.database, "write", counting)
    await store.append(conversation.id, [ended(item.id)], None, promised=False)
    assert promises == [False], "one transaction, and none that waits for the disk"
    assert (await counted(store))["m"].requests == 1


async def test_it_outlives_conversations_that_are_deleted_or_removed_by_age(opened: OpenStore) -> None:
    store = opened.store
    gone, old = [await store.add_conversation(a_conversation()) for _ in range(2)]
    for conversation in (gone, old):
        await answer(store, conversation.id)
    await store.change_conversation(OWNER, gone.id, lambda now: msgspec.structs.replace(now, deleted_at=1.0))
    assert await store.purge(time.time()) == 1
    age = sa.text("UPDATE conversations SET updated_at = 1.0")
    await asyncio.to_thread(opened.database.write_now, lambda connection: connection.execute(age) and None)
    assert await store.retain(Retention(days=1)) == 1
    await store.tidy()
    assert (await counted(store))["m"].requests == 2


async def test_it_is_forgotten_after_ten_years(opened: OpenStore) -> None:
    store = opened.store
    conversation = await store.add_conversation(a_conversation())
    await answer(store, conversation.id)
    last = day_of(time.time() - (limits.USAGE_DAYS + 3) * DAY)
    aged = sa.text("UPDATE usage_days SET day = :day").bindparams(day=last)
    await asyncio.to_thread(opened.database.write_now, lambda connection: connection.execute(aged) and None)
    await store.tidy()
    assert not await counted(store)


async def test_a_title_counts_also_where_it_comes_too_late(store: Store) -> None:
    used = Used("m", TokenUsage(input=30, output=4), 0.01)
    conversation = await store.add_conversation(a_conversation())
    await store.post_message(a_posting(conversation.id, "First words."))
    await store.title(conversation, "A better title", used)
    assert (await store.conversation(OWNER, conversation.id)).title == "A better title"
    await store.title(conversation, "Another", used)
    assert (await store.conversation(OWNER, conversation.id)).title == "A better title"
    await store.change_conversation(OWNER, conversation.id, lambda now: msgspec.structs.replace(now, deleted_at=1.0))
    await store.title(conversation, "Too late", used)
    await store.purge(time.time())
    await store.title(conversation, "Much too late", used)
    assert (await counted(store))["m"].requests == 4


async def take_back(opened: OpenStore, statements: Sequence[str]) -> None:
    """Make a database one of an earlier version, and close it."""
    for statement in statements:
        await asyncio.to_thread(
            opened.database.write_now, lambda c, statement=statement: c.execute(sa.text(statement)) and None
        )
    await opened.close()


async def test_what_was_used_before_an_upgrade_is_counted_little_by_little_and_once(
    tmp_path: Path, database_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CATCH_UP_ITEMS", 3)
    opened = open_store(tmp_path, database_url, lambda _id, _events: None)
    conversations = [await opened.store.add_conversation(a_conversation()) for _ in range(3)]
    for conversation in conversations:
        for _ in range(7):
            await answer(opened.store, conversation.id, cost=0.5)
    await take_back(opened, BEFORE_USAGE)
    opened = open_store(tmp_path, database_url, lambda _id, _events: None)
    try:
        store = opened.store
        assert (await store.usage_since(OWNER, TODAY)).incomplete
        # New ones count at once, and one that goes for good is counted first.
        await answer(store, conversations[0].id, cost=0.5)
        gone = conversations[1].id
        await store.change_conversation(OWNER, gone, lambda now: msgspec.structs.replace(now, deleted_at=1.0))
        await store.purge(time.time())
        steps = 0
        while await store.catch_up():
            steps += 1
        assert steps >= 6, "a part at a time"
        found = await counted(store)
        assert (found["m"].requests, found["m"].cost) == (22, 11.0)
        assert not (await store.usage_since(OWNER, TODAY)).incomplete
    finally:
        await opened.close()


async def test_two_processes_that_write_at_once_count_everything(tmp_path: Path, postgres_url: str) -> None:
    both = [open_store(tmp_path, postgres_url, lambda _id, _events: None) for _ in range(2)]
    try:
        conversations = [await both[0].store.add_conversation(a_conversation()) for _ in range(6)]
        # In other orders, and each process in each conversation: whoever waits for a row waits for it alone.
        work = [
            answer(opened.store, conversation.id, model=f"m{number % 3}")
            for number in range(6)
            for opened, order in ((both[0], conversations), (both[1], conversations[::-1]))
            for conversation in order
        ]
        await asyncio.gather(*work)
        assert sum(row.requests for row in (await counted(both[0].store)).values()) == len(work)
    finally:
        for opened in both:
            await opened.close()


async def test_going_on_raises_the_budget_of_the_day_once_however_many_ask(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())

    async def ask(raised: int, choice: str, reason: str = "day_budget") -> None:
        data = {"kind": "limit", "reason": reason, "raised": raised}
        question = an_item(conversation.id, "question", "waiting", data=data)
        await store.append(conversation.id, [ItemCreated(item=question)], None)
        said = {"answer": {"by": OWNER, "at": 1.0, "choice": choice}}
        await store.append(conversation.id, [ItemCompleted(item_id=question.id, status="completed", data=said)], None)

    await ask(1, "stop")
    await ask(9, "continue", reason="run_budget")
    assert (await store.spent_on(OWNER, TODAY)).raised == 0
    await ask(1, "continue")
    await ask(1, "continue")
    assert (await store.spent_on(OWNER, TODAY)).raised == 1
    await ask(3, "continue")
    await ask(2, "continue")
    assert (await store.spent_on(OWNER, TODAY)).raised == 3
    assert (await store.spent_on(OWNER, "2000-01-01")).raised == 0


async def test_the_requests_of_a_conversation_are_told_with_their_messages_and_to_their_owner_only(
    store: Store,
) -> None:
    conversation = await store.add_conversation(a_conversation())
    posting = a_posting(conversation.id)
    await store.post_message(posting)
    item = an_item(conversation.id, run_id=posting.run.id)
    await store.append(conversation.id, [ItemCreated(item=item)], None)
    await store.append(conversation.id, [ended(item.id, cost=0.5)], None)
    message, one = await store.requests(OWNER, conversation.id)
    assert (message.item_id, message.used, one.run_id) == (posting.item.id, None, posting.run.id)
    assert one.used == Used("m", TokenUsage(input=100, output=20, cache_read=60, cache_write=5, reasoning=3), 0.5)
    with pytest.raises(PilothouseError, match="no such conversation"):
        await store.requests("someone else", conversation.id)


async def test_what_was_counted_before_estimates_were_marked_is_kept(tmp_path: Path, database_url: str | None) -> None:
    opened = open_store(tmp_path, database_url, lambda _id, _events: None)
    conversation = await opened.store.add_conversation(a_conversation())
    await answer(opened.store, conversation.id)
    await take_back(opened, BEFORE_ESTIMATES)
    opened = open_store(tmp_path, database_url, lambda _id, _events: None)
    try:
        await answer(opened.store, conversation.id)
        now = (await counted(opened.store))["m"]
        assert (now.requests, now.estimated) == (2, 0)
    finally:
        await opened.close()
