"""Room is made by a summary; what it stands for is never lost from the timeline."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pilothouse.agent import budget, compaction
from pilothouse.agent.history import history
from pilothouse.types.events import ItemCreated
from pilothouse.types.items import Item, ItemKind
from pilothouse.types.messages import TextBlock
from pilothouse.types.stream import Failed, Stopped, TextDelta, Usage
from pilothouse.types.tool_names import INCREASE
from pilothouse.types.usage import Spent
from tests.agent.items import item
from tests.agent.run_bench import Bench, StreamOf
from tests.support.invariants import check_messages

OLD = [item(1, "user_message", "old", "completed", "r0"), item(2, "response", "answer", "completed", "r0", turn="1.1")]


def test_the_newest_message_is_where_the_cut_is_made() -> None:
    assert place([*OLD, item(5, "user_message", "new")]) == (6, 5)


def test_an_answer_in_whose_middle_a_message_came_is_summed_up_whole_before_that_message() -> None:
    began = [
        item(1, "user_message", "old", "completed", "r0"),
        item(2, "thinking", "hm", "completed", "r0", turn="1.1"),
        item(3, "user_message", "new"),
        item(4, "tool_call", "ok", "completed", "r0", turn="1.1", callId="c1", tool="t"),
        item(5, "response", "answer", "completed", "r0", turn="2.1"),
    ]
    assert place(began) == (6, 3)
    # And when it is being answered.
    assert place([*began, item(7, "response", "to the new one", turn="1.1")]) == (7, 3)


def test_messages_that_wait_are_kept_wherever_they_stand() -> None:
    turns = [
        item(1, "user_message", "do it"),
        item(2, "response", "…", turn="1.1"),
        item(9, "response", "…", turn="2.1"),
    ]
    assert place(turns) == (9, 2)


def place(items: Sequence[Item]) -> tuple[int, int] | None:
    """Return from where on what was said, and messages, are kept."""
    cut = compaction.place_to_cut(items, "r1")
    return (cut.keep_from, cut.messages_from) if cut is not None else None


def test_within_one_long_answer_the_newest_turn_is_kept() -> None:
    turns = [item(1, "user_message", "do it")]
    for number in (1, 2, 3):
        turns.append(item(number * 10, "response", "…", turn=f"{number}.1"))
        turns.append(item(number * 10 + 1, "tool_call", "ok", turn=f"{number}.1", callId=f"c{number}", tool="t"))
    assert place(turns) == (30, 2)
    assert place(turns[:3]) is None


def test_a_single_message_cannot_be_cut() -> None:
    assert place([item(1, "user_message", "huge")]) is None


def test_what_was_summarised_is_not_cut_again() -> None:
    items = [*OLD, item(5, "user_message", "new"), item(6, "compaction", "They talked.", keepFrom=5)]
    assert place(items) is None


async def test_a_summary_that_was_asked_for_stands_for_no_message_that_waits(
    bench: Bench,
) -> None:
    await three_turns(bench)
    # A message came in the middle of the third turn, and waits.
    response = next(each for each in bench.journal.items if each.text.startswith("turn 3"))
    waiting = item(response.position + 1, "user_message", "Next", "completed", "later")
    bench.journal._items[waiting.id] = waiting
    bench.journal._listed = None
    model = StreamOf([TextDelta("They counted."), Stopped("end")])
    assert await compaction.compact_as_asked(model.opened(), bench.journal, bench.run.id, "") is None
    told = repr(history(bench.journal.items))
    assert ("turn 2" in told, "turn 3" in told, "result 3" in told, "Next" in told) == (False, False, False, True)


async def spoken(bench: Bench, kind: ItemKind, text: str, turn: str) -> None:
    made = bench.journal.new(kind, status="completed", text=text, data={"turn": turn, "callId": turn, "tool": "t"})
    await bench.journal.write(ItemCreated(item=made))


async def three_turns(bench: Bench, length: int = 10) -> None:
    for number in (1, 2, 3):
        await spoken(bench, "response", f"turn {number} " + "x" * length, f"{number}.1")
        await spoken(bench, "tool_call", f"result {number}", f"{number}.1")


@pytest.mark.case("F-33", "MOD-24")
async def test_the_summary_replaces_the_older_turns_and_the_timeline_keeps_them(bench: Bench) -> None:
    await three_turns(bench)
    model = StreamOf([TextDelta("They counted "), TextDelta("to two."), Stopped("end")])
    assert await compaction.compact(model.opened(), bench.journal, bench.run.id)
    [asked] = model.requests
    [block] = asked.messages[0].content
    assert isinstance(block, TextBlock)
    assert "turn 2" in block.text
    assert "turn 3" not in block.text
    messages = history(bench.journal.items)
    check_messages(messages)
    text = repr(messages)
    assert "They counted to two." in text
    assert "turn 3" in text
    assert "turn 1" not in text
    assert next(kept.text for kept in await bench.kept() if kept.kind == "response").startswith("turn 1")
    assert history(await bench.store.history(bench.run.conversation_id)) == messages


@pytest.mark.case("F-33")
async def test_without_a_summary_an_excerpt_is_better_than_nothing(bench: Bench) -> None:
    await three_turns(bench, 20_000)
    model = StreamOf([Failed("model_overloaded", "Busy.")])
    assert await compaction.compact(model.opened(context_window=4_000), bench.journal, bench.run.id)
    made = next(kept for kept in await bench.kept() if kept.kind == "compaction")
    assert made.raw["by"] == "excerpt"
    assert 1_000 < len(made.text) <= 4_000
    check_messages(history(bench.journal.items))


async def test_what_a_run_has_used_up_is_the_same_after_a_summary_and_for_whoever_reads_it_anew(bench: Bench) -> None:
    def used(items: Sequence[Item]) -> Spent:
        return budget.spent([each for each in items if each.run_id == bench.run.id])

    for number in range(1, 7):
        data = {"turn": f"{number}.1", "usage": {"input": 100, "output": number}}
        said = bench.journal.new("response", status="completed", text="x", data=data)
        more = {"turn": f"{number}.1", "callId": f"c{number}", "tool": INCREASE, "iterations": number}
        asked = bench.journal.new("tool_call", status="completed", text="ok", data=more)
        await bench.journal.write(ItemCreated(item=said), ItemCreated(item=asked))
        if number in (3, 5):
            model = StreamOf([TextDelta("They counted."), Usage(input=1), Stopped("end")])
            assert await compaction.compact(model.opened(), bench.journal, bench.run.id)
    whole = Spent(turns=6, tokens=623, added=21)
    assert used(bench.journal.items) == whole
    anew = await bench.store.history(bench.run.conversation_id)
    assert len(anew) < len(bench.journal.items)
    assert used(anew) == whole
