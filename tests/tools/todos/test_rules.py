"""What a list of todos must be like, and what is said about one that is not."""

from __future__ import annotations

from typing import Any

import pytest

from pilothouse.tools.todos.rules import complaints, lost
from pilothouse.types import limits
from pilothouse.types.todos import Subtask, Todo


def todo(number: int, **fields: Any) -> Todo:
    return Todo(id=number, title=f"Step {number}", **fields)


@pytest.mark.case("TOD-10")
def test_a_second_todo_in_progress_is_refused_naming_both() -> None:
    [said] = complaints([todo(1, status="in-progress"), todo(2), todo(3, status="in-progress")])
    assert said == (
        "Only one todo can be in-progress, but todo 1 “Step 1” and todo 3 “Step 3” are; complete one of them first."
    )
    assert complaints([todo(1, status="in-progress"), todo(2), todo(3, status="completed")]) == []


@pytest.mark.case("TOD-11")
def test_a_completed_todo_cannot_go_missing() -> None:
    before = [todo(1, status="completed"), todo(2), todo(3, status="completed")]
    [said] = lost(before, [todo(2)])
    assert said.startswith("Cannot delete completed todos: todo 1 “Step 1”, todo 3 “Step 3” must stay")
    assert lost(before, [todo(1, status="completed"), todo(3, status="completed")]) == []


@pytest.mark.case("TOD-12")
def test_a_dependency_must_exist() -> None:
    assert complaints([todo(5, dependencies=(10,))]) == ["Todo 5 “Step 5” depends on non-existent todo 10."]
    assert complaints([todo(5, dependencies=(10,)), todo(10)]) == []


@pytest.mark.case("TOD-13", "TST-12")
def test_a_circle_of_two_is_reported_for_both() -> None:
    said = complaints([todo(1, dependencies=(2,)), todo(2, dependencies=(1,)), todo(3, dependencies=(1,))])
    assert said == [
        "Todo 1 “Step 1” has a circular dependency: it indirectly depends on itself (1 → 2 → 1).",
        "Todo 2 “Step 2” has a circular dependency: it indirectly depends on itself (2 → 1 → 2).",
    ]


@pytest.mark.case("TOD-13")
@pytest.mark.parametrize(
    ("todos", "circles"),
    [
        ([todo(1, dependencies=(1,))], 1),
        ([todo(1, dependencies=(2,)), todo(2, dependencies=(3,)), todo(3, dependencies=(1,))], 3),
        ([todo(1, dependencies=(2, 3)), todo(2, dependencies=(4,)), todo(3, dependencies=(4,)), todo(4)], 0),
        ([todo(number, dependencies=tuple(range(1, number))) for number in range(1, 60)], 0),
    ],
)
def test_circles_are_found_and_diamonds_are_not(todos: list[Todo], circles: int) -> None:
    assert sum("circular" in said for said in complaints(todos)) == circles


@pytest.mark.case("TOD-14")
@pytest.mark.parametrize("reason", [None, "", "  "])
def test_a_blocked_todo_needs_a_reason(reason: str | None) -> None:
    assert complaints([todo(7, status="blocked", blocked_reason=reason)]) == [
        "Todo 7 “Step 7” is blocked but has no blockedReason."
    ]
    assert complaints([todo(7, status="blocked", blocked_reason="Waits for a key")]) == []


@pytest.mark.case("TOD-15", "TOD-09")
@pytest.mark.parametrize(
    ("progress", "fine"), [(0.0, True), (1.0, True), (0.5, True), (-0.1, False), (1.01, False), (float("nan"), False)]
)
def test_progress_is_from_zero_to_one(progress: float, fine: bool) -> None:
    assert (complaints([todo(1, progress=progress)]) == []) is fine


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ([todo(1), todo(1)], "2 todos have the id 1; each needs its own."),
        ([todo(0)], "A todo cannot have the id 0; ids begin with 1."),
        ([Todo(id=1, title="  ")], "Todo 1 needs a title of 3 to 7 words."),
        ([Todo(id=1, title="x" * 3_000)], f"A text of todo 1 has more than {limits.TODO_CHARS} characters."),
        ([todo(1, subtasks=(Subtask(title=""),))], "Todo 1 “Step 1” has a subtask without a title."),
        ([todo(1, estimate_minutes=-1.0)], "Todo 1 “Step 1” has an estimate of -1 minutes; it cannot be that."),
        ([todo(number) for number in range(1, 300)], "A list has at most 200 todos; this one has 299."),
    ],
)
def test_everything_else_that_makes_no_sense_is_one_sentence(wrong: list[Todo], sentence: str) -> None:
    assert complaints(wrong) == [sentence]
