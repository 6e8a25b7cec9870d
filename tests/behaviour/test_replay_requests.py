"""What the model of a replay is sent: byte for byte what the first one was sent, as long as it does the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.api import Answer, ConversationPatch, ModelInput
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, Part, ToolOutput
from pilothouse.types.todos import TodoInput
from tests.support.chats import ME, Chat, open_chat
from tests.support.replays import replay_run, run_items
from tests.support.request_prefix import check_extends
from tests.support.sampling import first_and_some
from tests.support.scripted_endpoint import Endpoint, Received, Reply
from tests.support.tools import ToolOf, add_tools
from tests.support.wire_writers import WIRES, Call, Say, Text, Wire

PLAN = [{"title": "Look around", "status": "in-progress"}, {"title": "Write it"}]
LONG = "A line of a long result.\n" * 20_000


def call(number: int, name: str, **arguments: Any) -> Call:
    return Call(f"call_{number}", name, json.dumps(arguments))


STEPS = (
    call(1, "todo_operations", operation="write", todoList=PLAN),
    call(2, "look", at="long"),
    call(3, "todo_operations", operation="update", todoUpdates=[{"id": 1, "status": "completed"}]),
    call(4, "look", at="nothing"),
)


async def look(arguments: JsonObject, _context: CallContext) -> ToolOutput:
    text = LONG if arguments["at"] == "long" else ""
    return ToolOutput(text, parts=(Part(kind="text", text=text),) if text else ())


def saying(*steps: Call) -> list[Reply]:
    return [*(Reply(Say((step,), stop="tool")) for step in steps), Reply(Say((Text(["Done."]),)))]


async def begun(chat: Chat, endpoint: Endpoint, wire: Wire) -> None:
    """Have a model at the endpoint, which has answered once and was reminded of todos."""
    add_tools(chat.host, ToolOf("look", look))
    model = ModelInput(name="m", id="m", provider=wire, model="m", base_url=endpoint.url, context_window=1_000_000)
    await chat.use(model)
    await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
    endpoint.answer(*saying(call(0, "todo_operations", operation="write", todoList=PLAN[:1])))
    assert (await chat.say("First")).status == "completed"


def bodies(requests: list[Received]) -> list[bytes]:
    return [request.body for request in requests]


@pytest.mark.parametrize("wire", first_and_some(WIRES))
async def test_a_model_that_does_the_same_is_sent_the_same_byte_for_byte(home: Path, wire: Wire) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await begun(chat, endpoint, wire)
        first = len(endpoint.requests)
        endpoint.answer(*saying(*STEPS))
        run = await chat.say("Second")
        recorded = bodies(endpoint.requests[first:])
        # What holds now is another thing than what held then.
        await chat.api.todos.put(ME, chat.id, TodoInput(todos=()))
        endpoint.answer(*saying())
        await chat.say("Third")
        second = len(endpoint.requests)
        endpoint.answer(*saying(*STEPS))
        assert (await replay_run(chat, run.id)).status == "completed"
        again = bodies(endpoint.requests[second:])
        assert len(recorded) == 5
        assert again == recorded


async def test_a_reminder_that_followed_a_call_comes_only_once_that_call_was_repeated(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await begun(chat, endpoint, "openai-compatible")
        endpoint.answer(*saying(*STEPS[:2]))
        run = await chat.say("Second")
        sent = len(endpoint.requests)
        # The other way round: of the new plan it hears when it has made it.
        endpoint.answer(*saying(STEPS[1], STEPS[0]))
        assert (await replay_run(chat, run.id)).status == "completed"
        requests = endpoint.requests[sent:]
        told = [request.body.decode().count("Write it") for request in requests]
        assert told[:2] == [0, 0]
        assert told[2] > 0
        check_extends(requests[0].body, requests[1].body)
        check_extends(requests[1].body, requests[2].body)


async def test_arguments_that_the_person_changed_are_told_as_they_were_then(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        tool = ToolOf("look", look, effects=frozenset({"writes"}))
        add_tools(chat.host, tool)
        model = ModelInput(name="m", id="m", provider="openai-compatible", model="m", base_url=endpoint.url)
        await chat.use(model)
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        steps = (call(1, "look", at="home"),)
        endpoint.answer(*saying(*steps))
        run = await chat.say("Go")
        (question,) = await chat.items("question")
        changed = Answer(choice="allow", arguments={"at": "elsewhere"})
        await chat.api.questions.answer(ME, question.id, changed)
        assert (await chat.settled(run.id)).status == "completed"
        recorded = bodies(list(endpoint.requests))
        endpoint.answer(*saying(*steps))
        again = await replay_run(chat, run.id)
        assert again.status == "completed"
        assert bodies(endpoint.requests[len(recorded) :]) == recorded
        (repeated,) = await run_items(chat, again, "tool_call")
        assert repeated.raw["arguments"] == {"at": "home"}
