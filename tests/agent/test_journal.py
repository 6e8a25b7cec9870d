"""A run's pen: what is written together, and what becomes of it when the store's answer is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemUpdated
from pilothouse.types.feed import Guard
from tests.agent.conftest import Bench
from tests.support.records import OWNER, an_item


@pytest.mark.parametrize("page", [2, 3, 500])
async def test_what_was_kept_is_found_however_much_others_wrote_meanwhile(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(limits, "FEED_PAGE", page)
    monkeypatch.setattr(limits, "STORE_RETRY", 0.01)
    where, store, append = bench.run.conversation_id, bench.store, bench.store.append
    lost: list[int] = []

    async def answer_lost(
        conversation_id: str, events: Sequence[Event], guard: Guard | None, *, promised: bool
    ) -> Sequence[Event]:
        done = await append(conversation_id, events, guard, promised=promised)
        if not lost:
            lost.append(done[-1].seq)
            raise PilothouseError("database", "The connection broke.")
        return done

    await append(where, [ItemCreated(item=an_item(where, "notice")) for _ in range(4)], None)
    monkeypatch.setattr(store, "append", answer_lost)
    mine = [bench.journal.new("notice", status="completed", text=f"{number}") for number in range(3)]
    await bench.journal.write(*(ItemCreated(item=item) for item in mine))
    assert lost == [bench.item(mine[-1].id).position]
    kept = (await store.items(OWNER, where, None, 100)).items
    assert [item.text for item in kept if item.id in {each.id for each in mine}] == ["0", "1", "2"]
    assert [bench.item(each.id).position for each in mine] == [lost[0] - 2, lost[0] - 1, lost[0]]


class Appends:
    """What was appended, one entry for each transaction."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[list[Event]] = []
        self.promised: list[bool] = []
        self._append = bench.store.append
        monkeypatch.setattr(bench.store, "append", self._counted)

    async def _counted(
        self, conversation_id: str, events: Sequence[Event], guard: Guard | None, *, promised: bool
    ) -> Sequence[Event]:
        self.batches.append(list(events))
        self.promised.append(promised)
        return await self._append(conversation_id, events, guard, promised=promised)


async def test_what_many_write_at_one_moment_is_one_transaction(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [await bench.wish("echo", {}, f"call_{number}") for number in range(16)]
    appends = Appends(bench, monkeypatch)
    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(bench.journal.write(ItemUpdated(item_id=call.id, status="streaming")))
    assert [len(batch) for batch in appends.batches] == [16]
    assert {bench.item(call.id).status for call in calls} == {"streaming"}


@pytest.mark.parametrize("promised", [True, False])
async def test_one_promise_makes_a_promise_of_all_that_is_written_with_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, promised: bool
) -> None:
    calls = [await bench.wish("echo", {}, f"call_{number}") for number in range(3)]
    appends = Appends(bench, monkeypatch)
    async with asyncio.TaskGroup() as group:
        for call in calls:
            event = ItemUpdated(item_id=call.id, status="streaming")
            group.create_task(bench.journal.write(event, promised=promised and call is calls[1]))
    assert appends.promised == [promised]


async def test_an_item_that_nobody_has_seen_begins_as_what_it_has_become(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    appends = Appends(bench, monkeypatch)
    begun = bench.journal.new("tool_call", data={"phase": "started", "tool": "echo"})
    bench.journal.soon(begun)
    await bench.journal.write(ItemUpdated(item_id=begun.id, status="waiting", data={"phase": "args_received"}))
    assert [[type(event) for event in batch] for batch in appends.batches] == [[ItemCreated]]
    assert [(item.status, item.data) for item in await bench.kept() if item.id == begun.id] == [
        ("waiting", {"phase": "args_received", "tool": "echo"})
    ]


async def test_a_fault_while_writing_is_told_to_everyone_whose_words_were_in_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [await bench.wish("echo", {}, f"call_{number}") for number in range(3)]

    def broken(_item_id: str) -> list[Event]:
        raise UnicodeError("no text")

    with monkeypatch.context() as while_it_writes:
        while_it_writes.setattr(bench.journal, "_last_text", broken)
        told = await asyncio.gather(
            *(bench.journal.write(ItemCompleted(item_id=call.id, status="completed")) for call in calls),
            return_exceptions=True,
        )
    assert [type(error) for error in told] == [UnicodeError] * 3
    await bench.journal.write(*(ItemCompleted(item_id=call.id, status="completed") for call in calls))
    assert {bench.item(call.id).status for call in calls} == {"completed"}
