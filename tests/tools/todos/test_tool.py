"""`todo_operations`: what each operation does, what it refuses, and what the model reads."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pilothouse.tools.todos.lists import TodoLists
from pilothouse.types.access import Access
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ports import CallContext
from pilothouse.types.todos import Subtask, Todo, TodoList
from tests.support.records import OWNER, a_conversation
from tests.tools.todos.conftest import TodoCalls

PLAN = [
    {"id": 1, "title": "Read the old code", "status": "completed", "priority": "high"},
    {"id": 2, "title": "Write the new parser", "status": "in-progress", "dependencies": [1], "progress": 0.6},
    {"id": 3, "title": "Run all tests", "description": "Also the slow ones."},
]


@pytest.mark.case("TOD-01", "FWK-07")
def test_the_tool_has_exactly_its_four_operations(todo_calls: TodoCalls) -> None:
    assert todo_calls.tool.qualified_name == "todo_operations"
    assert todo_calls.tool.supported_operations == ("read", "write", "update", "add")
    assert todo_calls.tool.spec.input_schema["properties"]["operation"]["enum"] == ["read", "write", "update", "add"]


@pytest.mark.case("TOD-09")
async def test_there_are_four_priorities_and_no_fifth(todo_calls: TodoCalls) -> None:
    four = ["low", "medium", "high", "critical"]
    for priority in four:
        [kept] = await todo_calls.done("write", todoList=[{"id": 1, "title": "Look around", "priority": priority}])
        assert kept["priority"] == priority
    said = await todo_calls.refused("write", todoList=[{"id": 1, "title": "Look around", "priority": "urgent"}])
    assert said.endswith(f"It is one of: {', '.join(four)}.")
    each = todo_calls.tool.spec.input_schema["properties"]["todoList"]["items"]["properties"]
    assert each["priority"]["enum"] == four


@pytest.mark.case("TOD-02")
async def test_read_gives_the_list_with_its_statistics(todo_calls: TodoCalls) -> None:
    assert (await todo_calls.call("read")).text.startswith("There are no todos.")
    await todo_calls.done("write", todoList=PLAN)
    output = await todo_calls.call("read")
    assert output.text.splitlines() == [
        "1 of 3 completed (53%), 1 in progress, 1 not started, 0 blocked",
        "[x] 1. Read the old code (high)",
        "[>] 2. Write the new parser (60%; after 1)",
        "[ ] 3. Run all tests",
    ]
    assert output.data["statistics"]["completed"] == 1
    assert output.data["statistics"]["minutesLeft"] == 0


@pytest.mark.case("TOD-03", "TOD-08")
async def test_write_replaces_the_list_and_keeps_every_field(todo_calls: TodoCalls) -> None:
    whole = {
        "id": 4,
        "title": "Ship it",
        "description": "To everyone",
        "status": "blocked",
        "priority": "critical",
        "dependencies": [2],
        "canRunParallel": True,
        "parallelGroup": "release",
        "progress": 0.25,
        "blockedReason": "Waits for a key",
        "subtasks": [{"title": "Sign", "done": True}, {"title": "Upload"}],
        "estimateMinutes": 30.0,
    }
    await todo_calls.done("write", todoList=[{"id": 9, "title": "Gone soon"}])
    written = await todo_calls.done("write", todoList=[*PLAN, whole])
    assert [each["id"] for each in written] == [1, 2, 3, 4]
    assert {key: value for key, value in written[3].items() if not key.endswith("At")} == whole


@pytest.mark.case("TOD-07")
async def test_a_todo_goes_through_its_four_states_and_no_other(todo_calls: TodoCalls) -> None:
    await todo_calls.done("add", newTodos=[{"title": "Run all tests"}])
    states: list[dict[str, Any]] = [
        {"status": "not-started"},
        {"status": "in-progress"},
        {"status": "blocked", "blockedReason": "The network is down."},
        {"status": "completed"},
    ]
    for state in states:
        (todo,) = await todo_calls.done("update", todoUpdates=[{"id": 1, **state}])
        assert todo.get("status", "not-started") == state["status"]
    wrong = await todo_calls.call("update", todoUpdates=[{"id": 1, "status": "finished"}])
    assert wrong.error is not None
    assert "in-progress" in wrong.text


@pytest.mark.case("TOD-04")
async def test_update_changes_only_what_is_named(todo_calls: TodoCalls) -> None:
    before = await todo_calls.done("write", todoList=PLAN)
    updates = [{"id": 2, "status": "completed", "progress": 1.0}, {"id": 3, "status": "in-progress"}]
    after = await todo_calls.done("update", todoUpdates=updates)
    assert [each.get("status", "not-started") for each in after] == ["completed", "completed", "in-progress"]
    assert after[0] == before[0]
    assert (after[2]["title"], after[2]["description"]) == ("Run all tests", "Also the slow ones.")
    cleared = await todo_calls.done("update", todoUpdates=[{"id": 2, "progress": None}])
    assert "progress" not in cleared[1]


@pytest.mark.case("TOD-05", "TOD-06")
async def test_add_appends_with_fresh_ids_and_keeps_all_others(todo_calls: TodoCalls) -> None:
    before = await todo_calls.done("write", todoList=[*PLAN[:2], {"id": 8, "title": "Far away"}])
    after = await todo_calls.done("add", newTodos=[{"title": "One more", "id": 1}, {"title": "And another"}])
    assert after[:3] == before
    assert [(each["id"], each["title"], each.get("status", "not-started")) for each in after[3:]] == [
        (9, "One more", "not-started"),
        (10, "And another", "not-started"),
    ]


@pytest.mark.case("TOD-11")
async def test_writing_without_a_completed_todo_is_refused_and_changes_nothing(todo_calls: TodoCalls) -> None:
    await todo_calls.done("write", todoList=PLAN)
    said = await todo_calls.refused("write", todoList=PLAN[1:])
    assert said.startswith("Cannot delete completed todos: todo 1 “Read the old code” must stay")


@pytest.mark.case("TOD-10", "TOD-12", "TOD-13", "TOD-14", "TOD-15", "TST-12")
@pytest.mark.parametrize(
    ("update", "words"),
    [
        ({"id": 3, "status": "in-progress"}, ["todo 2 “Write the new parser”", "todo 3 “Run all tests”"]),
        ({"id": 3, "dependencies": [77]}, ["Todo 3 “Run all tests” depends on non-existent todo 77."]),
        (
            {"id": 1, "dependencies": [2]},
            ["Todo 1 “Read the old code” has a circular", "Todo 2 “Write the new parser”"],
        ),
        ({"id": 3, "status": "blocked"}, ["Todo 3 “Run all tests” is blocked but has no blockedReason."]),
        ({"id": 3, "progress": 1.5}, ["the progress 1.5; it must be from 0.0 to 1.0"]),
        ({"id": 3, "status": "done"}, ["In todo 3: “status” cannot be 'done'."]),
        ({"id": 3, "priority": "huge"}, ["In todo 3: “priority” cannot be 'huge'."]),
        ({"id": 3, "state": "completed"}, ["In todo 3: there is no field state; there are blockedReason,"]),
        ({"id": 3, "progress": "half"}, ["In todo 3: “progress” must be a number or null, not text."]),
        ({"id": 12, "status": "completed"}, ["There is no todo 12; there are 1, 2, 3."]),
        ({"status": "completed"}, ["Every entry of `todoUpdates` needs the `id` of a todo."]),
    ],
)
async def test_an_update_that_breaks_a_rule_is_refused_by_name(
    todo_calls: TodoCalls, update: Any, words: list[str]
) -> None:
    await todo_calls.done("write", todoList=PLAN)
    said = await todo_calls.refused("update", todoUpdates=[update])
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    ("operation", "sentence"),
    [
        ("write", "`todoList` is missing; it must be a list of todos."),
        ("update", "`todoUpdates` is missing; it must be a list of todos."),
        ("add", "`newTodos` is missing; it must be a list of todos."),
        ("erase", "`operation` must be one of: read, write, update, add."),
    ],
)
async def test_what_is_missing_is_said(todo_calls: TodoCalls, operation: str, sentence: str) -> None:
    assert await todo_calls.refused(operation) == sentence


@pytest.mark.case("TOD-20")
async def test_a_list_that_is_done_is_ready_for_new_work(todo_calls: TodoCalls) -> None:
    await todo_calls.done("write", todoList=[{"title": "Only step", "status": "in-progress"}])
    output = await todo_calls.call("update", todoUpdates=[{"id": 1, "status": "completed"}])
    assert "ready for new work" in output.text
    assert "`add`" in output.text
    assert "ready for new work" not in (await todo_calls.call("add", newTodos=[{"title": "Next"}])).text


@pytest.mark.case("TOD-22")
@pytest.mark.parametrize(
    ("finished", "why"),
    [
        ({"subtasks": [{"title": "A", "done": True}, {"title": "B", "done": True}]}, "all its subtasks are done"),
        ({"progress": 1.0}, "its progress is 1.0"),
    ],
)
async def test_a_todo_that_looks_done_is_pointed_out(todo_calls: TodoCalls, finished: Any, why: str) -> None:
    await todo_calls.done(
        "write", todoList=[{"id": 1, "title": "Two parts", "subtasks": [{"title": "A", "done": True}]}]
    )
    steps = [{"title": "A", "done": True}, {"title": "B"}]
    half = await todo_calls.call("update", todoUpdates=[{"id": 1, "subtasks": steps}])
    assert "(50%)" in half.text
    assert "1/2 subtasks" in half.text
    assert "Mark todo 1" not in half.text
    output = await todo_calls.call("update", todoUpdates=[{"id": 1, **finished}])
    assert f"Mark todo 1 “Two parts” completed: {why}." in output.text


@pytest.mark.case("TOD-22")
async def test_estimates_add_up_to_what_is_left(todo_calls: TodoCalls) -> None:
    plan = [
        {"title": "Done", "status": "completed", "estimateMinutes": 60},
        {"title": "Half", "progress": 0.5, "estimateMinutes": 40},
        {"title": "All of it", "estimateMinutes": 10},
    ]
    output = await todo_calls.call("write", todoList=plan)
    assert "about 30 minutes left" in output.text
    too_deep = [{"title": "T", "subtasks": [{"title": "S", "subtasks": [{"title": "U"}]}]}]
    assert [
        step
        for step in (await todo_calls.done("write", todoList=[*output.data["todos"]["todos"], *too_deep]))[-1][
            "subtasks"
        ]
    ] == [{"title": "S"}]


@pytest.mark.case("TOD-16")
async def test_lists_have_times_and_belong_to_their_conversation(todo_calls: TodoCalls) -> None:
    first = await todo_calls.done("write", todoList=[{"title": "Mine"}, {"title": "Also mine"}])
    later = await todo_calls.done("update", todoUpdates=[{"id": 2, "status": "completed"}])
    assert later[0] == first[0]
    assert later[1]["createdAt"] == first[1]["createdAt"] < later[1]["updatedAt"]
    other = await todo_calls.store.add_conversation(a_conversation())
    assert await todo_calls.lists.current(other.id) == TodoList()
    assert await TodoLists(todo_calls.store).current(todo_calls.id) == await todo_calls.lists.current(todo_calls.id)


@pytest.mark.case("TOD-21")
async def test_a_list_is_read_once_and_again_after_another_process_wrote(todo_calls: TodoCalls) -> None:
    await todo_calls.done("write", todoList=PLAN)
    elsewhere = TodoLists(todo_calls.store)
    await elsewhere.change(todo_calls.id, lambda todos: [*todos, Todo(id=4, title="From elsewhere")])
    assert len((await todo_calls.lists.current(todo_calls.id)).todos) == 3
    todo_calls.lists.forget(todo_calls.id)
    assert len((await todo_calls.lists.current(todo_calls.id)).todos) == 4


@pytest.mark.case("TOD-21", "REM-10")
async def test_changes_at_the_same_time_all_count(todo_calls: TodoCalls) -> None:
    elsewhere = TodoLists(todo_calls.store)
    await asyncio.gather(
        *(todo_calls.done("add", newTodos=[{"title": f"Here {number}"}]) for number in range(10)),
        *(elsewhere.change(todo_calls.id, lambda todos: [*todos, _next(todos)]) for _ in range(10)),
    )
    kept = await todo_calls.store.todos(todo_calls.id)
    assert [todo.id for todo in kept.todos] == list(range(1, 21))


def _next(todos: Any) -> Todo:
    return Todo(id=max((todo.id for todo in todos), default=0) + 1, title="There")


@pytest.mark.case("TCL-26", "TCL-25", "FWK-03", "FWK-04")
async def test_a_call_shows_a_clipboard_and_waits_its_turn(todo_calls: TodoCalls) -> None:
    shown = todo_calls.tool.shown({"operation": "update", "todoUpdates": [{"id": 2, "status": "completed"}]})
    assert (shown.icon, shown.summary, shown.details) == ("clipboard", "Updating the todos: 1", ("2. completed",))
    context = CallContext(todo_calls.id, "r", "i", None, (), False)
    access = await todo_calls.tool.access({"operation": "read"}, context)
    assert access == Access(operation="todo_operations.read", lane="todos")
    assert todo_calls.tool.limited(frozenset()) is todo_calls.tool


@pytest.mark.case("TOD-18", "TOD-19")
def test_the_description_says_when_and_how(todo_calls: TodoCalls) -> None:
    said = todo_calls.tool.spec.description
    for words in (
        "several steps",
        "Not for a\nsingle easy step",
        "in-progress before",
        "as soon as it is done, one by one",
    ):
        assert words in said


async def test_the_person_may_tick_and_clear_and_it_is_recorded(todo_calls: TodoCalls) -> None:
    await todo_calls.done("write", todoList=PLAN)
    ticked = await todo_calls.lists.put(todo_calls.id, [Todo(id=3, title="Run all tests", status="completed")])
    assert [todo.id for todo in ticked.todos] == [3]
    assert await todo_calls.lists.put(todo_calls.id, []) == await todo_calls.store.todos(todo_calls.id)
    first, second = (await todo_calls.store.items(OWNER, todo_calls.id, None, 10)).items
    assert (first.kind, first.raw["code"], first.text) == (
        "notice",
        "todos",
        "You changed the todos: 1 of 1 completed.",
    )
    assert second.raw["todos"]["todos"] == []


async def test_the_person_is_held_to_the_rules_too(todo_calls: TodoCalls) -> None:
    two = [Todo(id=1, title="A", status="in-progress"), Todo(id=2, title="B", status="in-progress")]
    with pytest.raises(PilothouseError, match="Only one todo can be in-progress") as refused:
        await todo_calls.lists.put(todo_calls.id, two)
    assert refused.value.code == "bad_request"
    assert await todo_calls.store.todos(todo_calls.id) == TodoList()
    assert (await todo_calls.lists.put(todo_calls.id, [Todo(id=1, title="A", subtasks=(Subtask(title="S"),))])).todos
