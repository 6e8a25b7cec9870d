"""What a call of a replay is given: known again by its tool and arguments, in the order in which it was recorded."""

from __future__ import annotations

from typing import Any

import pytest

from pilothouse.agent.budget import CONTINUE, STOP, Excess
from pilothouse.agent.replaying import NOT_RECORDED, Replay, key_of, stopped
from pilothouse.types import limits
from pilothouse.types.canonical import canonical
from pilothouse.types.item_data import CallData
from pilothouse.types.items import Call, Item, is_a, read
from tests.agent.items import item


def call(position: int, tool: str, arguments: Any, text: str = "", **data: Any) -> Call:
    about = {"tool": tool, "arguments": arguments, "callId": f"c{position}", "turn": "1.1", **data}
    made = item(position, "tool_call", text, **about)
    assert is_a(made, CallData)
    return made


def reminder(position: int, name: str, text: str) -> Item:
    return item(position, "reminder", f"<system-reminder>\n{text}\n</system-reminder>", name=name)


def texts(replay: Replay, *calls: Call) -> list[str | None]:
    found = [replay.take(one) for one in calls]
    return [one.text if one is not None else None for one in found]


def test_the_nth_call_has_the_nth_result_and_then_the_last_again() -> None:
    replay = Replay(
        [call(1, "a", {"x": 1}, "first"), call(2, "a", {"x": 2}, "other"), call(3, "a", {"x": 1}, "second")]
    )
    again = call(9, "a", {"x": 1})
    assert texts(replay, again, again, again) == ["first", "second", "second"]
    assert texts(replay, call(9, "a", {"x": 2}), call(9, "a", {"x": 3}), call(9, "b", {"x": 1})) == [
        "other",
        None,
        None,
    ]


def test_whoever_goes_on_with_a_replay_counts_what_was_given_before() -> None:
    recorded = [call(1, "a", {}, "first"), call(2, "a", {}, "second")]
    mine = [call(5, "a", {}, "first"), call(6, "a", {}, "broken off", cutOff=True)]
    assert texts(Replay(recorded, mine), call(7, "a", {})) == ["second"]


def test_a_call_that_an_attempt_left_behind_when_it_broke_off_was_never_made() -> None:
    assert texts(Replay([call(1, "a", {}, "half", cutOff=True)]), call(9, "a", {})) == [None]


def test_a_call_by_name_is_a_call_of_the_tool_whether_or_not_that_is_there_now() -> None:
    recorded = call(1, "far__echo", {"text": "x"}, "x", server="Far", serverTool="far.echo", byName="far.echo")
    direct = call(2, "far__echo", {"text": "x"}, serverTool="far.echo")
    by_name = call(3, "call_tool", {"name": "far.echo", "arguments": {"text": "x"}})
    on_the_wire = call(4, "far__echo", {"text": "x"})
    for one in (direct, by_name, on_the_wire):
        assert texts(Replay([recorded]), one) == ["x"]
    assert key_of(by_name.data) == key_of(direct.data)


def test_what_the_model_asked_for_counts_where_the_person_changed_it() -> None:
    recorded = call(1, "a", {"x": "changed"}, "done", askedArguments={"x": "asked"})
    assert texts(Replay([recorded]), call(2, "a", {"x": "asked"}), call(3, "a", {"x": "changed"})) == ["done", None]


def test_arguments_that_are_none_are_the_same_letter_by_letter() -> None:
    recorded = call(1, "a", None, "unreadable", rawArguments="{x")
    assert texts(Replay([recorded]), call(2, "a", None, rawArguments="{x")) == ["unreadable"]
    assert texts(Replay([recorded]), call(2, "a", None, rawArguments="{y"), call(3, "a", {})) == [None, None]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": {"d": 1, "c": [1, 2]}}, {"a": {"c": [1.0, 2], "d": 1}}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": "1.0"}, {"a": "1"}, False),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": None}, {}, False),
        ({"a": 0.1}, {"a": 0.1000001}, False),
        ({"a": 10**30}, {"a": 10**30 + 1}, False),
        ({"a": 1e300}, {"a": 1e300}, True),
    ],
)
def test_arguments_are_compared_by_what_they_mean(one: Any, other: Any, same: bool) -> None:
    assert (canonical(one) == canonical(other)) == same


def test_very_long_and_very_deep_arguments_are_compared_too() -> None:
    deep: Any = {}
    for _ in range(900):
        deep = {"a": deep}
    assert canonical(deep) == canonical(deep)
    long = {"b": "x" * limits.CANONICAL_BYTES, "a": 1}
    assert canonical(long) == canonical(dict(reversed(long.items())))


async def test_a_reminder_comes_when_the_calls_before_it_were_repeated() -> None:
    recorded = [
        reminder(1, "todos", "one"),
        reminder(2, "memory", "m"),
        call(3, "a", {}, "x"),
        call(4, "b", {}, "y"),
        reminder(5, "todos", "two"),
    ]
    replay = Replay(recorded)
    told = [(each.name, each.text) for each in await replay.reminders()]
    assert told == [("todos", "one"), ("memory", "m")]
    replay.take(call(9, "b", {}))
    assert [each.text for each in await replay.reminders()] == ["one", "m"]
    replay.take(call(10, "a", {}))
    assert [(each.name, each.text) for each in await replay.reminders()] == [("memory", "m"), ("todos", "two")]


def limit(reason: str, choice: str) -> Item:
    answer: dict[str, Any] = {"kind": "limit", "reason": reason, "answer": {"choice": choice}}
    return item(3, "question", "Go on?", **answer)


def turn(number: int) -> Item:
    return item(10 + number, "response", f"turn {number}", turn=f"{number}.1")


def test_a_replay_goes_past_a_limit_as_far_as_the_person_let_the_run_go() -> None:
    turns = [turn(number) for number in range(1, 4)]
    excess = Excess("iterations", "The model has been asked 2 times for this message. Go on?")
    assert Replay([limit("iterations", CONTINUE), *turns]).went_past(excess, 2)
    assert not Replay([limit("iterations", CONTINUE), *turns]).went_past(excess, 3)
    assert not Replay([limit("iterations", STOP), *turns]).went_past(excess, 2)
    assert not Replay([limit("repetition", CONTINUE), *turns]).went_past(excess, 2)
    assert not Replay(turns).went_past(excess, 2)


def test_a_replay_is_stopped_by_its_own_word_and_not_by_that_of_a_result() -> None:
    error = {"code": NOT_RECORDED, "message": "That was not recorded."}
    assert stopped([call(1, "a", {}, recorded="i_1", error=error)]) is None
    outcome = stopped([call(1, "a", {}, error=error)])
    assert outcome is not None
    assert (outcome.status, outcome.code, outcome.message) == ("failed", "not_recorded", "That was not recorded.")


def test_tools_that_nobody_had_then_either_are_not_said_to_be_gone() -> None:
    missing = call(1, "made_up", {}, error={"code": "TOOL_NOT_FOUND", "message": "There is no tool."})
    replay = Replay([missing, call(2, "far__echo", {}, serverTool="far.echo"), call(3, "think", {})])
    assert replay.tools_but(["think"]) == ["far.echo"]
    assert read(CallData, missing.raw).tool == "made_up"
