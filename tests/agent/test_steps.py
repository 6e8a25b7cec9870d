"""What a run does next, and when it has gone on long enough."""

from __future__ import annotations

from typing import cast

import pytest

from pilothouse.agent import budget
from pilothouse.agent.steps import AskModel, ExecuteCalls, Finish, Wait, next_step
from pilothouse.types import limits
from pilothouse.types.items import Call, Item
from tests.agent.items import item

ASKED = item(1, "user_message", "Hi")


def response(position: int, turn: int, **data: object) -> Item:
    return item(position, "response", "So.", turn=f"{turn}.1", **data)


def call(position: int, turn: int, arguments: object = None, tool: str = "think") -> Item:
    about = {"callId": f"c{position}", "tool": tool, "arguments": arguments or {"n": position}}
    return item(position, "tool_call", "ok", turn=f"{turn}.1", **about)


def answered(position: int, choice: str, reason: str = "iterations") -> Item:
    return item(position, "question", "Go on?", kind="limit", reason=reason, answer={"choice": choice})


def rounds(count: int) -> list[Item]:
    return [made for turn in range(1, count + 1) for made in (response(2 * turn, turn), call(2 * turn + 1, turn))]


def test_a_fresh_run_asks_the_model() -> None:
    assert next_step([ASKED], "r1") == AskModel(1)


def test_an_answer_without_calls_is_the_end() -> None:
    assert next_step([ASKED, response(2, 1)], "r1") == Finish()


def test_calls_that_nobody_began_are_executed_and_then_the_model_is_asked_again() -> None:
    waiting = item(3, "tool_call", "", "waiting", turn="1.1", callId="c", tool="think", arguments={})
    assert next_step([ASKED, response(2, 1), waiting], "r1") == ExecuteCalls((cast(Call, waiting),))
    assert next_step([ASKED, response(2, 1), call(3, 1)], "r1") == AskModel(2)


def test_an_answer_that_broke_off_is_asked_for_again() -> None:
    broken = item(2, "response", "So", "failed", turn="1.1", cutOff=True)
    assert next_step([ASKED, broken], "r1") == AskModel(1)


def test_an_open_question_parks_the_run_even_beside_calls() -> None:
    waiting = item(3, "tool_call", "", "waiting", turn="1.1", callId="c", tool="think", arguments={})
    question = item(4, "question", "Allow?", "waiting")
    assert next_step([ASKED, response(2, 1), waiting, question], "r1") == Wait()


def test_other_runs_do_not_matter() -> None:
    question = item(4, "question", "Allow?", "waiting", "other")
    assert next_step([ASKED, response(2, 1), question], "r1") == Finish()


def test_turns_are_numbered_on_after_a_compaction_took_earlier_ones_out_of_sight() -> None:
    items = [ASKED, response(40, 20), call(41, 20)]
    assert next_step(items, "r1") == AskModel(21)


@pytest.mark.case("F-32")
def test_too_many_rounds_ask_the_person_and_an_allowance_is_one_more_of_the_same() -> None:
    many = rounds(limits.MAX_ITERATIONS)
    step = next_step([ASKED, *many], "r1")
    assert isinstance(step, budget.Excess)
    assert step.reason == "iterations"
    assert next_step([ASKED, *many[:-2]], "r1") == AskModel(limits.MAX_ITERATIONS)
    gone_on = [ASKED, *many, answered(900, budget.CONTINUE)]
    assert next_step(gone_on, "r1") == AskModel(limits.MAX_ITERATIONS + 1)
    # Going on at another limit is none of it.
    assert isinstance(next_step([ASKED, *many, answered(900, budget.CONTINUE, "run_budget")], "r1"), budget.Excess)
    twice = [ASKED, *rounds(2 * limits.MAX_ITERATIONS), answered(900, budget.CONTINUE)]
    assert isinstance(next_step(twice, "r1"), budget.Excess)


@pytest.mark.case("F-32")
def test_being_told_to_stop_is_the_end() -> None:
    assert next_step([ASKED, *rounds(limits.MAX_ITERATIONS), answered(900, budget.STOP)], "r1") == Finish()


@pytest.mark.case("F-32")
def test_the_same_call_again_and_again_asks_the_person() -> None:
    same = [
        made
        for turn in range(1, limits.REPEATED_CALLS + 1)
        for made in (response(2 * turn, turn), call(2 * turn + 1, turn, {"n": 0}))
    ]
    step = next_step([ASKED, *same], "r1")
    assert isinstance(step, budget.Excess)
    assert step.reason == "repetition"
    assert next_step([ASKED, *same, answered(900, budget.CONTINUE)], "r1") == AskModel(limits.REPEATED_CALLS + 1)
    other = [*same[:-1], call(2 * limits.REPEATED_CALLS + 1, limits.REPEATED_CALLS, {"n": 1})]
    assert isinstance(next_step([ASKED, *other], "r1"), AskModel)
    side_by_side = [response(2, 1), *(call(3 + number, 1, {"n": 0}) for number in range(limits.REPEATED_CALLS * 2))]
    assert isinstance(next_step([ASKED, *side_by_side], "r1"), AskModel)


@pytest.mark.case("MOD-24", "RES-17")
def test_the_window_counts_as_nearly_full_by_the_models_count_or_by_length() -> None:
    used = response(2, 1, usage={"input": 900, "output": 0})
    assert budget.nearly_full([ASKED, used], 1_000, 10)
    assert not budget.nearly_full([ASKED, used], 2_000, 10)
    assert budget.nearly_full([ASKED], 1_000, 4_000)
    summary = item(3, "compaction", "short", keepFrom=3)
    assert not budget.nearly_full([ASKED, used, summary], 1_000, 10)
