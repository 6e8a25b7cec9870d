"""Chats with models that have no tool calls of their own: they look and are stored like any others."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.agent.history import history
from pilothouse.types.api import ModelInput
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.messages import CallBlock, ResultBlock
from pilothouse.types.models import ToolCalls
from pilothouse.types.ports import CallContext, ToolError, ToolOutput
from pilothouse.types.selection import NativeTools, Selection, ServerChoice
from tests.support.chats import ME, Chat, open_chat
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.tools import ToolOf, give_tools
from tests.support.wire_writers import Call, Say, Text

CALL = 'TOOL_CALL: {"server": "files", "name": "read", "args": {"path": "a.txt"}}'


async def reading(arguments: dict[str, Any], _context: CallContext) -> ToolOutput:
    if arguments.get("path") != "a.txt":
        return ToolOutput(text="No such file.", error=ToolError("TOOL_ERROR", "No such file."))
    return ToolOutput(text="It says hi.")


@asynccontextmanager
async def scripted(home: Path, turns: list[Any], how: ToolCalls) -> AsyncIterator[tuple[Chat, ToolOf]]:
    """Open a chat with a scripted model that calls tools in one way."""
    async with open_chat(home, turns) as chat:
        body = ModelInput(name="m", id="m", provider="scripted", model=str(chat.script), tool_calls=how)
        assert (await chat.use(body)).tool_calls == how
        tool = ToolOf("files__read", reading)
        give_tools(chat.host, tool)
        yield chat, tool


@pytest.mark.case("PRO-08", "PRO-14", "PRO-18", "PRO-19", "TST-03")
async def test_a_call_in_text_is_executed_and_its_result_leads_to_the_answer(home: Path) -> None:
    wanted = {"text": f"I will look.\n{CALL}\nTOOL_RESULT: invented", "pieces": 5}
    async with scripted(home, [[wanted], "The file says hi."], "text") as (chat, tool):
        assert (await chat.say("What does a.txt say?")).status == "completed"
        assert [arguments for arguments, _ in tool.calls] == [{"path": "a.txt"}]
        assert await chat.texts("response") == ["I will look.\n", "The file says hi."]


@pytest.mark.case("PRO-18")
@pytest.mark.parametrize("how", ["native", "text"])
async def test_the_model_has_the_result_when_it_gives_its_final_answer(home: Path, how: ToolCalls) -> None:
    wish = Call("c1", "files__read", '{"path": "a.txt"}') if how == "native" else Text([CALL])
    async with Endpoint() as endpoint, open_chat(home) as chat:
        give_tools(chat.host, ToolOf("files__read", reading))
        url = f"{endpoint.url}/v1"
        await chat.use(
            ModelInput(name="m", id="m", provider="openai-compatible", model="m", base_url=url, tool_calls=how)
        )
        endpoint.answer(Reply(Say((wish,))), Reply(Say((Text(["So it greets."]),))))
        assert (await chat.say("What does a.txt say?")).status == "completed"
        asked = [json.dumps(request.json["messages"]) for request in endpoint.requests]
        first, second = [sent for sent in asked if "What does a.txt say?" in sent and "title" not in sent.lower()]
        assert ("It says hi." in first, second.count("It says hi.")) == (False, 1)
        assert (await chat.texts("response"))[-1] == "So it greets."


@pytest.mark.case("PRO-12", "PRO-13", "PRO-14", "PRO-15", "PRO-16")
async def test_the_timeline_is_the_same_as_with_native_calls(home: Path) -> None:
    async def shape(folder: Path, first: Any, how: ToolCalls) -> Any:
        async with scripted(folder, [first, "Done."], how) as (chat, _):
            await chat.say()
            items = await chat.items()
            kept = ("tool", "arguments", "phase", "isError")
            return [(item.kind, item.status, item.text, {key: item.raw.get(key) for key in kept}) for item in items]

    native = await shape(home / "native", [{"call": "files__read", "arguments": {"path": "a.txt"}}], "native")
    written = await shape(home / "text", CALL, "text")
    enforced = await shape(home / "json", '{"name": "files__read", "args": {"path": "a.txt"}}', "constrained")
    rescued = await shape(home / "rescued", '{"name": "files.read", "arguments": {"path": "a.txt"}}', "auto")
    assert native == written == enforced == rescued
    assert [kind for kind, *_ in native] == ["user_message", "tool_call", "response", "response"]
    _, (_, status, result, call), *responses = native
    assert (status, result, call["isError"]) == ("completed", "It says hi.", False)
    assert (call["tool"], call["arguments"]) == ("files__read", {"path": "a.txt"})
    assert [text for _, _, text, _ in responses] == ["", "Done."]


@pytest.mark.case("PRO-13", "PRO-20", "PRO-21")
async def test_a_native_call_is_executed_and_its_result_goes_back_in_a_message_of_the_tools_role(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        tool, other = ToolOf("files__read", reading), ToolOf("files__write")
        give_tools(chat.host, tool, other)
        body = ModelInput(name="m", id="m", provider="openai-compatible", model="m", base_url=f"{endpoint.url}/v1")
        await chat.use(body)
        calls = (Call("c1", "files__read", '{"path": "a.txt"}'), Call("c2", "files__read", '{"path": "b.txt"}'))
        endpoint.answer(Reply(Say(calls, stop="tool")), Reply(Say((Text(["It says hi."]),))))
        assert (await chat.say("What does a.txt say?")).status == "completed"
        assert [arguments["path"] for arguments, _ in tool.calls] == ["a.txt", "b.txt"]
        assert other.calls == []
        first, second = [request.json for request in endpoint.requests if "tools" in request.json][:2]
        assert [each["function"]["name"] for each in first["tools"]] == ["files__read", "files__write"]
        *_, called, one, two = second["messages"]
        assert [call["id"] for call in called["tool_calls"]] == ["c1", "c2"]
        assert one == {"role": "tool", "tool_call_id": "c1", "content": "It says hi."}
        assert (two["role"], two["tool_call_id"], "No such file." in two["content"]) == ("tool", "c2", True)
        assert (await chat.texts("response"))[-1] == "It says hi."


@pytest.mark.case("PRO-11")
async def test_a_failed_call_goes_back_as_an_error_that_the_model_can_react_to(home: Path) -> None:
    wrong = CALL.replace("a.txt", "b.txt")
    broken = CALL.replace('"a.txt"}}', '"a.txt", }}')
    unknown = CALL.replace('"read"', '"write"')
    async with scripted(home, [wrong, broken, unknown, CALL, "At last."], "text") as (chat, _):
        assert (await chat.say()).status == "completed"
        calls = await chat.items("tool_call")
        codes = [(item.raw.get("error") or {}).get("code") for item in calls]
        assert codes == ["TOOL_ERROR", "INVALID_ARGUMENTS", "TOOL_NOT_FOUND", None]
        assert (await chat.texts("response"))[-1] == "At last."


@pytest.mark.case("PRO-17")
async def test_several_calls_of_one_answer_are_executed_side_by_side(home: Path) -> None:
    async with scripted(home, [f"{CALL}\n{CALL}\n{CALL}", "Thrice."], "text") as (chat, tool):
        assert (await chat.say()).status == "completed"
        assert len(tool.calls) == 3
        calls = await chat.items("tool_call")
        assert len({call.raw["callId"] for call in calls}) == 3
        blocks = [block for message in history(await chat.items()) for block in message.content]
        assert sum(isinstance(block, CallBlock) for block in blocks) == 3
        assert sum(isinstance(block, ResultBlock) for block in blocks) == 3


@pytest.mark.case("PRO-04", "PRO-05", "PRO-08")
async def test_a_model_that_refuses_tools_is_asked_by_text_from_then_on(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home, settings={"system_prompt": "Be brief."}) as chat:
        give_tools(chat.host, ToolOf("files__read", reading))
        body = ModelInput(name="m", id="m", provider="openai-compatible", model="m", base_url=f"{endpoint.url}/v1")
        await chat.use(body)
        refusal = Reply(status=400, body=b'{"error": {"message": "m does not support tools"}}')
        endpoint.answer(refusal, Reply(Say((Text([CALL]),))), Reply(Say((Text(["It says hi."]),))))
        assert (await chat.say()).status == "completed"
        assert (await chat.items("tool_call"))[0].text == "It says hi."
        assert (await chat.say("Again")).status == "completed"
        bodies = [request.json for request in endpoint.requests if "title" not in json.dumps(request.json).lower()]
        assert ["tools" in sent for sent in bodies] == [True, False, False, False]
        systems = [sent["messages"][0]["content"] for sent in bodies]
        assert systems[0] == "Be brief."
        assert all(system.startswith("Be brief.\n\n# Tools") for system in systems[1:])
        assert (
            bodies[2]["messages"][-1]["content"]
            == 'TOOL_RESULT: {"server":"files","name":"read","result":"It says hi."}'
        )
        assert (await chat.snapshot()).conversation.settings.system_prompt == "Be brief."


async def test_a_model_set_to_native_calls_goes_on_without_tools_when_they_are_refused(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        give_tools(chat.host, ToolOf("files__read", reading))
        url = f"{endpoint.url}/v1"
        body = ModelInput(name="m", id="m", provider="openai-compatible", model="m", base_url=url, tool_calls="native")
        await chat.use(body)
        refusal = Reply(status=400, body=b'{"error": {"message": "m does not support tools"}}')
        endpoint.answer(refusal, Reply(Say((Text(["Without."]),))))
        assert (await chat.say()).status == "completed"
        assert "TOOL_CALL" not in json.dumps([request.json for request in endpoint.requests])


@pytest.mark.leaky
async def test_the_embedded_model_gets_tools_only_where_someone_chose_them(home: Path) -> None:
    """The built-in model calls a chosen tool in enforced JSON and then answers."""
    schema = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
    # A few words are enough where no call is wanted.
    async with open_chat(home, settings={"model_id": "embedded", "temperature": 0.0, "max_tokens": 16}) as chat:
        tool = ToolOf("everything__echo", schema=schema, server="Everything")
        give_tools(chat.host, ToolOf("think"), tool)
        assert (await chat.say("Please echo the word banana.")).status == "completed"
        assert await chat.items("tool_call") == []
        settings = ConversationSettings(
            model_id="embedded", temperature=0.0, max_tokens=100, selection=Selection(servers=(ServerChoice(name="x"),))
        )
        records = chat.host.api._records
        await records.change_conversation(ME, chat.id, lambda now: _set(now, settings))
        run = await chat.say("Please echo the word banana.", allow=("everything.*",))
        assert run.status == "completed"
        [call] = await chat.items("tool_call")
        assert (call.status, call.raw["tool"]) == ("completed", "everything__echo")
        assert (await chat.items())[-1].kind == "response"
        assert (await chat.texts("response"))[-1].strip()


def _set(conversation: Any, settings: ConversationSettings) -> Any:
    return msgspec.structs.replace(conversation, settings=settings)


@pytest.mark.case("NAT-02", "NAT-03", "NAT-04")
async def test_a_messages_native_tools_reach_the_provider_over_the_conversations(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        body = ModelInput(
            name="m",
            id="m",
            provider="anthropic-compatible",
            model="m",
            base_url=endpoint.url,
            native_tools=NativeTools(code_execution=True),
        )
        assert (await chat.api.models.add(ME, body)).native_tools == NativeTools(code_execution=True)
        endpoint.answer(Reply(Say((Text(["Found."]),))))
        chosen = Selection(native_tools=NativeTools(web_search=True, code_execution=False))
        run = await chat.say(model_id="m", selection=chosen)
        assert run.status == "completed"
        assert run.options.selection == chosen
        names = [tool.get("name") for tool in endpoint.requests[0].json["tools"]]
        assert "web_search" in names
        assert "code_execution" not in names
        await chat.say(model_id="m")
        names = [tool.get("name") for tool in endpoint.requests[-1].json["tools"]]
        assert "web_search" not in names
        assert "code_execution" in names


@pytest.mark.parametrize("stop", ["length", "context"])
async def test_a_call_in_text_that_a_limit_cut_is_told_as_that(home: Path, stop: str) -> None:
    wanted = [{"text": CALL[:-4], "pieces": 5}, {"stop": stop}]
    async with scripted(home, [wanted, "Then in pieces."], "text") as (chat, tool):
        assert (await chat.say()).cut is None
        assert tool.calls == []
        [call] = await chat.items("tool_call")
        assert call.raw["error"]["code"] == "CUT_SHORT"
        assert "smaller pieces" in call.text
        assert (await chat.texts("response"))[-1] == "Then in pieces."
