"""A run's pen: what is written together, and what becomes of it when the store's answer is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemDelta, ItemUpdated
from pilothouse.types.feed import Guard
from pilothouse.types.items import Item
from tests.agent.run_bench import Bench
from tests.support.records import OWNER, an_item
from tests.support.waiting import eventually


async def new_call(bench: Bench) -> Item:
    """Write a call that has begun."""
    call = bench.journal.new("tool_call")
    await bench.journal.write(ItemCreated(item=call))
    return call


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


async def test_who_finds_its_run_taken_over_after_an_outage_says_that_saving_works(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STORE_RETRY", 0.01)
    answers = [
        PilothouseError("database", "The database does not answer."),
        PilothouseError("stale_run", "Taken over."),
    ]
    troubles: list[str] = []

    async def answered(*_given: object, **_options: object) -> Sequence[Event]:
        troubles.append(bench.feed.trouble("store"))
        raise answers[len(troubles) - 1]

    monkeypatch.setattr(bench.store, "append", answered)
    with pytest.raises(PilothouseError, match=r"Taken over\."):
        await bench.journal.write(ItemCreated(item=bench.journal.new("notice", status="completed", text="Hi")))
    assert ["Everything is paused" in trouble for trouble in troubles] == [False, True]
    assert bench.feed.trouble("store") == ""


async def test_a_damaged_database_after_an_outage_leaves_the_notice_that_everything_is_paused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STORE_RETRY", 0.01)
    answers = iter(
        (
            PilothouseError("database", "The database does not answer."),
            PilothouseError("database_corrupt", "The database file is damaged."),
        )
    )

    async def fail(*_given: object, **_options: object) -> Sequence[Event]:
        raise next(answers)

    monkeypatch.setattr(bench.store, "append", fail)
    with pytest.raises(PilothouseError, match="damaged"):
        await bench.journal.write(ItemCreated(item=bench.journal.new("notice", status="completed", text="Hi")))
    assert "Everything is paused" in bench.feed.trouble("store")


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
    assert [(item.status, item.raw) for item in await bench.kept() if item.id == begun.id] == [
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


async def test_what_is_written_later_counts_at_once_and_goes_along_with_the_next_write(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    appends = Appends(bench, monkeypatch)
    call, answer = bench.journal.new("tool_call"), bench.journal.new("response", status="completed")
    bench.journal.soon(call)
    asked = ItemUpdated(item_id=call.id, status="waiting")
    assert bench.journal.later(ItemCreated(item=answer), asked)
    assert [(item.id, item.status) for item in bench.journal.items][-2:] == [
        (call.id, "waiting"),
        (answer.id, "completed"),
    ]
    assert 0 < bench.item(call.id).position < bench.item(answer.id).position
    await bench.journal.write(ItemUpdated(item_id=call.id, status="streaming"))
    [batch] = appends.batches
    created = [event.item.status for event in batch if isinstance(event, ItemCreated)]
    assert (created, len(batch)) == (["streaming", "completed"], 2)
    assert await bench.kept()


async def test_an_end_that_is_written_later_counts_at_once_and_is_promised_with_the_next_write(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = await new_call(bench)
    appends = Appends(bench, monkeypatch)
    said = ItemDelta(item_id=call.id, offset=0, text="42")
    assert bench.journal.later(said, ItemCompleted(item_id=call.id, status="completed"), promised=True)
    assert (bench.item(call.id).status, bench.item(call.id).text) == ("completed", "42")
    answer = bench.journal.new("response", status="completed")
    await bench.journal.write(ItemCreated(item=answer), promised=False)
    [batch] = appends.batches
    assert [type(event) for event in batch] == [ItemDelta, ItemCompleted, ItemCreated]
    assert appends.promised == [True]
    assert (bench.item(call.id).status, bench.item(call.id).text) == ("completed", "42")
    kept = (await bench.store.items(OWNER, bench.run.conversation_id, None, 100)).items
    assert [(item.status, item.text) for item in kept if item.id == call.id] == [("completed", "42")]


async def test_an_end_that_is_written_later_is_kept_in_a_moment_though_nothing_follows(bench: Bench) -> None:
    call = await new_call(bench)
    assert bench.journal.later(ItemCompleted(item_id=call.id, status="completed"), promised=True)

    async def ended() -> bool | None:
        kept = (await bench.store.items(OWNER, bench.run.conversation_id, None, 100)).items
        return kept[-1].status == "completed" or None

    await eventually(ended, "the end to be kept")


async def test_what_counts_as_written_and_could_not_be_is_told_to_whoever_writes_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = await new_call(bench)
    appends = Appends(bench, monkeypatch)
    half = ItemDelta(item_id=call.id, offset=0, text="\ud800")
    assert bench.journal.later(half, ItemCompleted(item_id=call.id, status="completed"))

    async def tried() -> bool | None:
        return bool(appends.batches) or None

    await eventually(tried, "the end to be handed to the store")
    with pytest.raises(UnicodeError):
        await bench.journal.write(ItemUpdated(item_id=call.id, data={"a": 1}))


async def test_what_readers_know_already_is_not_written_later(bench: Bench) -> None:
    known = bench.journal.new("tool_call")
    await bench.journal.write(ItemCreated(item=known))
    answer = bench.journal.new("response", status="completed")
    assert not bench.journal.later(ItemCreated(item=answer), ItemUpdated(item_id=known.id, status="waiting"))
    assert [item.id for item in bench.journal.items][-1] == known.id


async def test_what_is_written_later_is_kept_when_the_run_is_stopped_before(bench: Bench) -> None:
    answer = bench.journal.new("response", status="completed")
    assert bench.journal.later(ItemCreated(item=answer))
    await bench.journal.close()
    kept = (await bench.store.items(OWNER, bench.run.conversation_id, None, 100)).items
    assert kept[-1].id == answer.id
