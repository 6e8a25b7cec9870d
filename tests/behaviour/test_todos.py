"""Todos in a conversation: kept, shown, changed by the person, and told to the model again and again."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.api import ConversationPatch, ModelInput, NewConversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ports import Model
from pilothouse.types.todos import Todo, TodoInput
from pilothouse.wiring import open_host
from tests.support.chats import ME, Chat, open_chat
from tests.support.request_prefix import check_extends
from tests.support.sampling import first_and_some
from tests.support.scripted_endpoint import Endpoint, Received, Reply
from tests.support.waiting import eventually
from tests.support.wire_writers import WIRES, Call, Say, Text, Wire

PLAN = [{"title": "Look around", "status": "in-progress"}, {"title": "Write it"}]


def call(operation: str, **arguments: Any) -> dict[str, Any]:
    return {"call": "todo_operations", "arguments": {"operation": operation, **arguments}}


@pytest.mark.case("TOD-16", "TOD-17")
async def test_the_list_is_in_the_call_in_the_snapshot_and_after_a_restart(home: Path) -> None:
    async with open_chat(home, [[call("write", todoList=PLAN)], "Planned."]) as chat:
        assert (await chat.say()).status == "completed"
        [item] = await chat.items("tool_call")
        snapshot = await chat.snapshot()
        assert item.raw["todos"]["todos"][0]["title"] == "Look around"
        assert [todo.title for todo in snapshot.todos.todos] == ["Look around", "Write it"]
        assert await chat.api.todos.get(ME, chat.id) == snapshot.todos
        other = await chat.api.conversations.create(ME, NewConversation())
        assert (await chat.api.todos.get(ME, other.id)).todos == ()
        conversation = chat.id
    async with open_chat(home) as chat:
        assert await chat.api.todos.get(ME, conversation) == snapshot.todos


@pytest.mark.case("FWK-03", "FWK-04", "FWK-06")
async def test_calls_of_one_answer_are_made_one_after_the_other(home: Path) -> None:
    adds = [call("add", newTodos=[{"title": f"Step {number}"}]) for number in range(6)]
    async with open_chat(home, [adds, "Planned."]) as chat:
        assert (await chat.say()).status == "completed"
        assert [(todo.id, todo.title) for todo in (await chat.api.todos.get(ME, chat.id)).todos] == [
            (number + 1, f"Step {number}") for number in range(6)
        ]


@pytest.mark.case("TOD-10")
async def test_a_refusal_reaches_the_model_and_leaves_the_list(home: Path) -> None:
    second = call("update", todoUpdates=[{"id": 2, "status": "in-progress"}])
    async with open_chat(home, [[call("write", todoList=PLAN)], [second], "I see."]) as chat:
        assert (await chat.say()).status == "completed"
        _, refused = await chat.items("tool_call")
        assert refused.status == "failed"
        assert "todo 1 “Look around” and todo 2 “Write it”" in refused.text
        assert [todo.status for todo in (await chat.api.todos.get(ME, chat.id)).todos] == ["in-progress", "not-started"]


async def test_a_person_changes_the_list_and_every_reader_learns_of_it(home: Path) -> None:
    async with open_chat(home, [[call("write", todoList=PLAN)], "Planned."]) as chat:
        run = await chat.say()
        ticked = [Todo(id=1, title="Look around", status="completed"), Todo(id=2, title="Write it")]
        kept = await chat.api.todos.put(ME, chat.id, TodoInput(todos=tuple(ticked)))
        [notice] = await chat.items("notice")
        assert (notice.raw["code"], notice.text) == ("todos", "You changed the todos: 1 of 2 completed.")
        assert len(notice.raw["todos"]["todos"]) == 2
        folded = await chat.follow(run.id)
        assert any(item.kind == "notice" for item in folded.list())
        assert kept.todos[1].created_at < kept.todos[0].updated_at
        with pytest.raises(PilothouseError) as refused:
            await chat.api.todos.put("someone-else", chat.id, TodoInput(todos=()))
        assert refused.value.code == "not_found"


@pytest.mark.case("TOD-21")
async def test_what_another_process_writes_is_seen_here(home: Path, postgres_url: str) -> None:
    async with (
        open_chat(home, [[call("write", todoList=PLAN)], "Planned."], database_url=postgres_url) as chat,
        open_host(home.parent / "other", postgres_url) as other,
    ):
        assert (await other.api.todos.get(ME, chat.id)).todos == ()
        assert (await chat.say()).status == "completed"

        async def seen() -> bool:
            return len((await other.api.todos.get(ME, chat.id)).todos) == 2

        await eventually(seen, "the list in the other process")
        done = [Todo(id=1, title="Look around", status="completed"), Todo(id=2, title="Write it")]
        await other.api.todos.put(ME, chat.id, TodoInput(todos=tuple(done)))

        async def heard() -> bool:
            return (await chat.api.todos.get(ME, chat.id)).todos[0].status == "completed"

        await eventually(heard, "the person's change in the first process")


# --- what models are sent ---


def replies(*calls: dict[str, Any]) -> list[Reply]:
    made = [
        Say((Call(f"call_{id(each)}", each["call"], json.dumps(each["arguments"])),), stop="tool") for each in calls
    ]
    return [*(Reply(say) for say in made), Reply(Say((Text(["Done."]),)))]


async def with_model(chat: Chat, endpoint: Endpoint, wire: Wire, **fields: Any) -> None:
    body = {"base_url": endpoint.url, "context_window": 1_000_000, **fields}
    await chat.use(ModelInput(name="m", id="m", provider=wire, model="m", **body))
    await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))


STEPS = (
    call("write", todoList=PLAN),
    call("update", todoUpdates=[{"id": 1, "status": "completed"}, {"id": 2, "status": "in-progress"}]),
    {"call": "think", "arguments": {"thoughts": "Hm."}},
    call("update", todoUpdates=[{"id": 2, "status": "completed"}]),
)


async def requests_of(home: Path, wire: Wire, **fields: Any) -> list[Received]:
    """Have three messages answered, the todos changed on the way, and return what the model was sent."""
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await with_model(chat, endpoint, wire, **fields)
        endpoint.answer(*replies(*STEPS))
        assert (await chat.say("First")).status == "completed"
        endpoint.answer(*replies(call("add", newTodos=[{"title": "One more"}])))
        assert (await chat.say("Second")).status == "completed"
        await chat.api.todos.put(ME, chat.id, TodoInput(todos=()))
        endpoint.answer(*replies())
        assert (await chat.say("Third")).status == "completed"
        return list(endpoint.requests)


@pytest.mark.case("REM-01", "REM-02", "REM-03", "REM-11")
@pytest.mark.parametrize("wire", first_and_some(WIRES))
async def test_every_request_extends_the_last_and_ends_with_what_holds_now(home: Path, wire: Wire) -> None:
    requests = await requests_of(home, wire)
    assert len(requests) == 8
    for before, after in itertools.pairwise(requests):
        check_extends(before.body, after.body)
    told = [request.body.decode().count("<todoList>") for request in requests]
    # None yet; the plan; changed; unchanged; changed; before the second message; one added; before the third, none.
    assert told == [0, 1, 2, 2, 3, 4, 5, 5]
    second, third = requests[5].body.decode(), requests[7].body.decode()
    assert second.rindex("Everything is completed") < second.rindex("Second")
    assert second.rindex("<system-reminder>") > second.rindex("Done.")
    assert third.rindex("does not hold any more") < third.rindex("Third")


@pytest.mark.case("REM-02")
async def test_a_reminder_is_sent_with_the_role_of_the_person(home: Path) -> None:
    requests = await requests_of(home, "openai-compatible")
    messages = requests[5].json["messages"]
    assert messages[-1]["role"] == "user"
    reminder, message = messages[-1]["content"]
    assert reminder["text"].startswith("<system-reminder>\n<todoList>\n")
    assert message["text"] == "Second"
    assert [each["role"] for each in requests[1].json["messages"][-2:]] == ["tool", "user"]


@pytest.mark.case("REM-03")
async def test_a_model_that_calls_in_text_is_reminded_too(home: Path) -> None:
    line = "TOOL_CALL: " + json.dumps({"name": "todo_operations", "args": {"operation": "write", "todoList": PLAN}})
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await with_model(chat, endpoint, "openai-compatible", tool_calls="text")
        endpoint.answer(Reply(Say((Text([line]),))), Reply(Say((Text(["Done."]),))))
        assert (await chat.say("First")).status == "completed"
        first, second = endpoint.requests
        check_extends(first.body, second.body)
        last = second.json["messages"][-1]
        assert last["role"] == "user"
        result, reminder = last["content"].split("\n", 1)
        # The result is one line of JSON: whatever is in it, it cannot begin a reminder.
        assert json.loads(result.removeprefix("TOOL_RESULT: "))["name"] == "todo_operations"
        assert reminder.startswith("<system-reminder>\n<todoList>")


@pytest.mark.case("REM-11")
def test_there_is_one_way_to_ask_a_model_and_reminders_are_on_it() -> None:
    asking = [name for name in vars(Model) if not name.startswith("_")]
    assert asking == ["stream"]


async def test_a_conversation_without_todos_costs_nothing(home: Path) -> None:
    async with open_chat(home) as chat:
        await chat.say()
        assert [item.kind for item in await chat.items()] == ["user_message", "response"]
