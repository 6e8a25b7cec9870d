"""What must hold of a database after every fault: the rules R1 to R5, checked on what is really kept."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import sqlalchemy as sa

from pilothouse.agent.history import history
from pilothouse.store import audit, branches, packing, paths, rows, schema
from pilothouse.types.api import MessageAccepted
from pilothouse.types.authority import LASTING
from pilothouse.types.events import (
    Event,
    ItemCompleted,
    ItemCreated,
    ItemDelta,
    ItemUpdated,
    RunUpdated,
    event_decoder,
    utf16_length,
)
from pilothouse.types.folding import changed
from pilothouse.types.items import CLOSED, Item
from pilothouse.types.messages import CallBlock, Message, ResultBlock
from pilothouse.types.runs import ENDED, Run
from tests.support.databases import open_transaction
from tests.support.paths import forks, path_items


def check(url: str, *, at_rest: bool = True) -> None:
    """Fail if the database breaks a rule; `at_rest` means that no process is working on it."""
    with open_transaction(url) as connection:
        if connection.dialect.name == "sqlite":
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        for row in connection.execute(sa.select(schema.conversations)).all():
            check_conversation(connection, row.id, row.last_seq, at_rest=at_rest)
            _, sealed = audit.report(connection, row.owner, row.id)
            assert sealed.sound, f"the record of {row.id} is broken at {sealed.first_bad}"
        check_receipts(connection)


def check_conversation(connection: sa.Connection, conversation_id: str, last_seq: int, *, at_rest: bool) -> None:
    """Check one conversation's timeline and everything folded from it."""
    found = list(packing.events_after(connection, conversation_id, -1))
    numbers = [event.seq for event in found]
    assert numbers == list(range(1, last_seq + 1)), f"numbers of {conversation_id} have gaps: {numbers}"
    events = [event_decoder.decode(event.body) for event in found]
    assert [event.seq for event in events] == numbers
    items = fold_events(events)
    assert _kept_items(connection, conversation_id) == [_as_kept(item) for item in items]
    runs = fold_runs(events)
    assert _kept_runs(connection, conversation_id) == {run.id: run for run in runs}
    for run in runs:
        check_run(run, [item for item in items if item.run_id == run.id], runs, at_rest=at_rest)
    check_order(events)
    check_calls(items, events)
    check_branches(connection, conversation_id, items)


def check_branches(connection: sa.Connection, conversation_id: str, items: Sequence[Item]) -> None:
    """Each branch has a number without a gap and its row, and its path is one that every provider takes."""
    begun = forks(items)
    assert sorted(begun) == list(range(1, len(begun) + 1)), f"branches of {conversation_id}: {sorted(begun)}"
    table = schema.conversations
    query = sa.select(table.c.branch, table.c.branches).where(table.c.id == conversation_id)
    ((chosen, count),) = connection.execute(query).all()
    assert (count, 0 <= chosen <= count) == (len(begun), True)
    kept = {branch.number: branch for branch in branches.of(connection, conversation_id)}
    told = ("parent", "before", "instead_of", "kind", "repeats")
    assert {number: [getattr(each, name) for name in told] for number, each in kept.items()} == {
        number: [getattr(fork, name) for name in told] for number, (_, fork) in begun.items()
    }
    for number in range(count + 1):
        expected = path_items(items, number)
        most = sys.maxsize
        found = paths.BranchPath(conversation_id, number).before(connection, most, most).bodies
        assert [rows.kept_item(body).id for body in reversed(found)] == [item.id for item in expected]
        check_ids(expected)
        check_messages(history(expected))


def fold_events(events: Iterable[Event]) -> list[Item]:
    """Return the items that events make, in order; text must fit together without a gap or an overlap."""
    items: dict[str, Item] = {}
    for event in events:
        match event:
            case ItemCreated():
                assert event.item.id not in items, f"{event.item.id} was created twice"
                assert event.item.position == event.seq
                items[event.item.id] = event.item
            case ItemDelta():
                item = items[event.item_id]
                assert item.status not in CLOSED, f"{item.id} got text after its end"
                assert event.offset == utf16_length(item.text), f"text of {item.id} has a gap or an overlap"
                items[item.id] = msgspec.structs.replace(item, text=item.text + event.text)
            case ItemUpdated() | ItemCompleted():
                item = items[event.item_id]
                ends = isinstance(event, ItemCompleted) or event.status is not None
                assert not (ends and item.status in CLOSED), f"{item.id} ended twice"
                items[item.id] = changed(item, event)
            case _:
                pass
    return list(items.values())


def fold_runs(events: Iterable[Event]) -> list[Run]:
    """Return the runs as their last event says."""
    runs: dict[str, Run] = {}
    for event in events:
        if isinstance(event, RunUpdated):
            before = runs.get(event.run.id)
            assert before is None or event.run.epoch >= before.epoch, f"{event.run.id} went back to an older epoch"
            runs[event.run.id] = event.run
    return list(runs.values())


def _may_stand_beside(run: Run, other: Run) -> bool:
    compared = run.options.beside is not None and run.options.beside == other.options.beside
    return compared or (other.status == "waiting" and other.branch != run.branch)


def _is_held(queued: Run, by: Run, others: Sequence[Run]) -> bool:
    """Return whether a queued run waits for the person in its own branch, so that one of another branch may pass it."""
    asked = ("waiting", "interrupted")
    return queued.branch != by.branch and any(o.status in asked and o.branch == queued.branch for o in others)


def check_order(events: Iterable[Event]) -> None:
    """One run at a time, and none begins while a message that came before its own waits to be answered.

    Runs of one comparison are at work beside each other, and what waits for the person holds up its own branch only.
    """
    sent: dict[str, int] = {}
    runs: dict[str, Run] = {}
    for event in events:
        if isinstance(event, ItemCreated) and event.item.kind == "user_message":
            sent[event.item.run_id or ""] = event.seq
        elif isinstance(event, RunUpdated):
            run, before = event.run, runs.get(event.run.id)
            runs[run.id] = run
            if run.status == "running" and (before is None or before.status != "running"):
                others = [other for other in runs.values() if other.id != run.id]
                in_the_way = [other for other in others if not _may_stand_beside(run, other)]
                at_work = [other.id for other in in_the_way if other.status in ("running", "waiting")]
                assert not at_work, f"{run.id} began beside {at_work}"
                waiting = [o for o in in_the_way if o.status == "queued" and not _is_held(o, run, others)]
                passed = [o.id for o in waiting if sent[o.id] < sent[run.id]]
                assert not passed, f"{run.id} began before {passed}, whose messages came first"


def check_run(run: Run, mine: Sequence[Item], runs: Sequence[Run], *, at_rest: bool) -> None:
    """R1: the run ended, or visibly waits for the person, for another run, or for the next start."""
    asked = [item for item in mine if item.kind == "question" and item.status == "waiting"]
    if run.status == "waiting":
        assert asked, f"{run.id} waits and no question is open"
    if at_rest:
        blocked = any(other.id != run.id and other.status in ("waiting", "interrupted") for other in runs)
        # Begun and queued again: a program that was asked to end has given it back.
        given_back = any(other.status == "queued" and other.epoch > 0 for other in runs)
        resting = run.status in ENDED or run.status == "waiting"
        resting = resting or (run.status == "queued" and (blocked or given_back))
        assert resting, f"{run.id} is {run.status} and nobody works on it"
    if run.status in ENDED:
        assert run.process is None, f"{run.id} ended and {run.process} still holds it"
        left = [item.id for item in mine if item.status not in CLOSED and not _may_stay_open(run, item)]
        assert not left, f"{run.id} is {run.status} and left open: {left}"
    assert [item.id for item in mine if item.kind == "user_message"] == [run.message_item_id]
    standing = Counter(
        str(item.raw.get("turn")).partition(".")[0]
        for item in mine
        if item.kind == "response" and item.status == "completed" and not item.raw.get("cutOff")
    )
    twice = [turn for turn, count in standing.items() if count > 1]
    assert not twice, f"{run.id} has two answers that stand for turn {twice}"


def _may_stay_open(run: Run, item: Item) -> bool:
    """Return whether an interrupted run may keep this for when it is resumed."""
    resting = item.raw.get("phase") in ("args_received", "waiting_approval", "input_required", "summarising")
    waits = item.kind == "question" or (item.kind == "tool_call" and resting)
    return run.status == "interrupted" and waits


def check_calls(items: Sequence[Item], events: Sequence[Event]) -> None:
    """R3 to R5: one result per call, none begun twice, none begun without the permission it asked for."""
    begun, paused = _came_to("executing", events), _came_to("input_required", events)
    # A call that paused to ask something goes on with the answers.
    repeated = [item_id for item_id, times in begun.items() if times > 1 + paused[item_id]]
    assert not repeated, f"calls were executed twice: {repeated}"
    calls = [item for item in items if item.kind == "tool_call"]
    for call in calls:
        if call.status in CLOSED and not call.raw.get("cutOff"):
            assert call.text or call.status == "completed", f"{call.id} has no result"
    for call in calls:
        if begun[call.id]:
            assert call.raw["decision"]["verdict"] == "allow", f"{call.id} ran and nobody decided so"
    for question in items:
        call_id = question.raw.get("callItemId") if question.raw.get("kind") == "approval" else None
        if call_id in begun:
            choice = question.raw.get("answer", {}).get("choice")
            assert choice in LASTING | {"allow"}, f"{call_id} ran without permission"


def check_ids(path: Sequence[Item]) -> None:
    """No model is sent two calls with one id; what stands on no path together is never sent together."""
    calls = [item for item in path if item.kind == "tool_call"]
    # A summary stands for the calls before it: no model is sent them again.
    summed = [item.position for item in path if item.kind == "compaction" and item.status == "completed"]
    ids = Counter((sum(item.position > end for end in summed), item.raw["callId"]) for item in calls)
    assert all(count == 1 for count in ids.values()), f"call ids are used twice: {ids}"


def _came_to(phase: str, events: Sequence[Event]) -> Counter[str]:
    """Return how often each call came to a phase; one may begin with it."""
    told = [(event.item.id, event.item.raw) for event in events if isinstance(event, ItemCreated)]
    told += [(event.item_id, event.data) for event in events if isinstance(event, ItemUpdated) and event.seq]
    return Counter(item_id for item_id, data in told if data.get("phase") == phase)


def check_messages(messages: Sequence[Message]) -> None:
    """The history is one that every provider takes."""
    assert not messages or messages[0].role == "user"
    waiting: list[str] = []
    for before, message in zip((None, *messages), messages, strict=False):
        assert message.content, "an empty turn"
        assert before is None or before.role != message.role, "two turns of the same role in a row"
        results = [block.id for block in message.content if isinstance(block, ResultBlock)]
        assert results == waiting, f"results {results} do not answer calls {waiting}"
        assert results == [block.id for block in message.content[: len(results)] if isinstance(block, ResultBlock)]
        waiting = [block.id for block in message.content if isinstance(block, CallBlock)]
        assert not waiting or message.role == "assistant"
    assert not waiting, f"calls without a result: {waiting}"


def check_receipts(connection: sa.Connection) -> None:
    """A message that was accepted is there, with its run."""
    runs = set(connection.execute(sa.select(schema.runs.c.id)).scalars())
    for body in connection.execute(sa.select(schema.receipts.c.body)).scalars():
        assert msgspec.json.decode(body, type=MessageAccepted).run_id in runs


def _kept_items(connection: sa.Connection, conversation_id: str) -> list[Item]:
    table = schema.items
    query = sa.select(table.c.body, table.c.status).where(table.c.conversation_id == conversation_id)
    found = connection.execute(query.order_by(table.c.position)).all()
    items = [rows.kept_item(body) for body, _ in found]
    assert [item.status for item in items] == [status for _, status in found]
    return items


def _as_kept(item: Item) -> Item:
    # Until an item ends, its row leaves the text to the delta events.
    return item if item.status in CLOSED else msgspec.structs.replace(item, text=_first_text(item))


def _first_text(item: Item) -> str:
    return item.text if item.kind in ("question", "notice") else ""


def _kept_runs(connection: sa.Connection, conversation_id: str) -> dict[str, Run]:
    table = schema.runs
    found = connection.execute(sa.select(table).where(table.c.conversation_id == conversation_id)).all()
    runs = {row.id: rows.run_decoder.decode(row.body) for row in found}
    for row in found:
        run = runs[row.id]
        assert (row.status, row.epoch, row.process) == (run.status, run.epoch, run.process)
    return runs
