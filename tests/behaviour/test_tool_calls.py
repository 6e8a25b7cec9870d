"""A tool call as a person sees it: phases, progress, more time, an honest stop, and names as models write them."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.agent.history import history
from pilothouse.host import messages
from pilothouse.types import limits
from pilothouse.types.api import NewMessage
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCreated, ItemUpdated
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ResultBlock
from pilothouse.types.ports import CallContext, CallFeedback, Part, ToolError, ToolOutput, ToolRequest
from pilothouse.types.selection import Selection, ServerChoice
from tests.behaviour.long_calls import ALLOWED, Mine, open_chat_in_call, the_call, wait_for_event
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.tools import Box, ToolOf, give_tools

# A time that can be told from none.
LAPSE = 0.05


def _has_text(text: str, event: Event) -> bool:
    return getattr(event, "text", "") == text


# --- phases, progress ---


@pytest.mark.case("TCL-01", "TCL-02", "TCL-03", "TCL-18", "TCL-19", "TCL-22")
async def test_a_call_is_there_from_its_first_byte_and_carries_its_whole_story(home: Path) -> None:
    slow = [{"call": "mine__dig", "arguments": '{"depth": 3}', "pieces": 2, "every": 0.02}]
    mine = Mine()
    async with open_chat(home, [slow, "Dug."]) as chat:
        give_tools(chat.host, mine.tool)
        sent = await chat.send(allow=ALLOWED)
        created = await wait_for_event(
            chat, lambda event: isinstance(event, ItemCreated) and event.item.kind == "tool_call"
        )
        assert isinstance(created, ItemCreated)
        assert not mine.begun.is_set()
        assert (created.item.status, created.item.text, created.item.raw["phase"]) == ("streaming", "", "started")
        assert created.item.raw["server"] == "Mine"
        await wait_for_event(
            chat, lambda event: isinstance(event, ItemUpdated) and event.data.get("argumentBytes", 0) > 0
        )
        mine.go.set()
        await chat.settled(sent.run_id)
        call = await the_call(chat)
        assert list(call.raw["phases"]) == ["started", "args_received", "executing", "completed"]
        assert sorted(call.raw["phases"].values()) == list(call.raw["phases"].values())
        assert (call.status, call.text, call.raw["arguments"]) == ("completed", "coal", {"depth": 3})
        assert call.raw["elapsedMs"] >= 0


@pytest.mark.case("TCL-06", "TCL-22")
async def test_progress_is_heard_by_readers_and_by_those_who_come_later(home: Path) -> None:
    mine = Mine()
    async with open_chat_in_call(home, mine) as (chat, run_id):
        assert mine.feedback is not None
        mine.feedback.progress(1, 4, "a quarter")
        for _ in range(2):
            note = await wait_for_event(chat, lambda event: isinstance(event, ItemUpdated) and "progress" in event.data)
            assert isinstance(note, ItemUpdated)
            assert note.data["progress"] == {"done": 1, "total": 4, "message": "a quarter"}
            assert note.data["deadlineAt"] > time.time()
        mine.go.set()
        await chat.settled(run_id)
        mine.feedback.progress(2, 4, "too late")
        assert (await the_call(chat)).raw["progress"]["message"] == "a quarter"


@pytest.mark.case("TCL-12")
async def test_several_calls_at_once_are_kept_apart(home: Path) -> None:
    steps: dict[str, asyncio.Event] = {name: asyncio.Event() for name in ("a", "b", "c")}
    begun: asyncio.Queue[None] = asyncio.Queue()

    async def work(arguments: JsonObject, context: CallContext) -> ToolOutput:
        begun.put_nowait(None)
        await steps[arguments["name"]].wait()
        return ToolOutput(text=arguments["name"])

    turn = [{"call": "work", "arguments": {"name": name}} for name in steps]
    async with open_chat(home, [turn, turn[:1], "Done."]) as chat:
        give_tools(chat.host, ToolOf("work", work))
        sent = await chat.send()
        await asyncio.wait_for(asyncio.gather(*(begun.get() for _ in steps)), PATIENCE)
        for name in ("c", "a", "b"):
            await asyncio.sleep(LAPSE)
            steps[name].set()
            await wait_for_event(chat, partial(_has_text, name))
        await chat.settled(sent.run_id)
        calls = await chat.items("tool_call")
        assert [item.text for item in calls] == ["a", "b", "c", "a"]
        first, second, third, _later = (item.raw["elapsedMs"] for item in calls)
        assert 1000 * LAPSE <= third < first < second
        for item in calls:
            phases = item.raw["phases"]
            # Rounded to a whole millisecond.
            assert item.raw["elapsedMs"] <= 1000 * (phases["completed"] - phases["args_received"]) + 1


# --- stopping ---


@pytest.mark.case("TMO-07", "TMO-08", "TMO-09", "TCL-07", "ERR-02")
async def test_cancelling_a_call_reaches_the_tool_and_the_model_goes_on(home: Path) -> None:
    mine = Mine()
    async with open_chat_in_call(home, mine) as (chat, run_id):
        await asyncio.sleep(LAPSE)
        await chat.api.runs.cancel_call(ME, (await the_call(chat)).id)
        assert (await chat.settled(run_id)).status == "completed"
        assert mine.told.is_set()
        call = await the_call(chat)
        assert (call.status, call.raw["error"]["message"]) == ("cancelled", "Operation cancelled by user")
        assert (call.raw["error"]["code"], call.raw["error"]["retryable"]) == ("CANCELLED", False)
        assert call.raw["cancellation"] == "asked"
        assert call.raw["elapsedMs"] >= 1000 * LAPSE
        assert await chat.texts("response") == ["", "Dug."]


@pytest.mark.case("TMO-07", "F-52")
async def test_cancelling_a_run_reaches_its_tools(home: Path) -> None:
    mine = Mine()
    async with open_chat_in_call(home, mine) as (chat, run_id):
        await chat.api.runs.cancel(ME, run_id)
        assert (await chat.settled(run_id)).status == "cancelled"
        assert mine.told.is_set()
        call = await the_call(chat)
        assert (call.status, call.raw["cancellation"]) == ("cancelled", "asked")
        assert call.text == "Operation cancelled by user. The server was told to stop; it may still be working."


@pytest.mark.case("TMO-07")
async def test_a_reader_that_leaves_stops_nothing(home: Path) -> None:
    mine = Mine()
    async with open_chat_in_call(home, mine) as (chat, run_id):
        async with aclosing(await chat.api.conversations.events(ME, chat.id, 0)) as feed:
            async for _ in feed:
                break
        mine.go.set()
        assert (await chat.settled(run_id)).status == "completed"
        assert not mine.told.is_set()
        assert (await the_call(chat)).text == "coal"


@pytest.mark.case("F-10", "TMO-07")
@pytest.mark.parametrize("by", ["call", "run", "timeout"])
async def test_an_answer_that_comes_too_late_is_dropped(home: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    monkeypatch.setattr(limits, "CANCEL_GRACE", 0.05)
    mine = Mine(stubborn=True, total=0.1 if by == "timeout" else 30.0)
    async with open_chat_in_call(home, mine) as (chat, run_id):
        if by == "call":
            await chat.api.runs.cancel_call(ME, (await the_call(chat)).id)
        elif by == "run":
            await chat.api.runs.cancel(ME, run_id)
        await chat.settled(run_id)
        call = await the_call(chat)
        assert call.raw["cancellation"] == "unanswered"
        assert call.text.endswith("It did not answer and may still be running.")
        mine.go.set()
        await chat.say("Next", allow=ALLOWED)
        assert (await the_call(chat)) == call


async def test_a_tool_that_ends_with_an_answer_when_told_to_stop_has_acknowledged_it(home: Path) -> None:
    mine = Mine(stubborn=True)
    async with open_chat_in_call(home, mine) as (chat, run_id):
        await chat.api.runs.cancel_call(ME, (await the_call(chat)).id)
        async with asyncio.timeout(PATIENCE):
            await mine.told.wait()
        mine.go.set()
        await chat.settled(run_id)
        call = await the_call(chat)
        assert (call.status, call.raw["cancellation"]) == ("cancelled", "acknowledged")


# --- names, selection, errors ---


@pytest.mark.case("NAM-04", "NAM-05")
@pytest.mark.parametrize("name", ["files.read", "files__read"])
async def test_both_names_of_a_servers_tool_mean_the_same(home: Path, name: str) -> None:
    tool = ToolOf("files__read", server="Files")
    async with open_chat(home, [[{"call": name, "arguments": {"path": "a"}}], "Done."]) as chat:
        give_tools(chat.host, tool)
        await chat.say(allow=("files.*",))
        call = await the_call(chat)
        assert (call.raw["tool"], call.raw["serverTool"], call.status) == ("files__read", "files.read", "completed")
        assert len(tool.calls) == 1


OPERATIONS: JsonObject = {
    "type": "object",
    "properties": {"operation": {"enum": ["read_file", "write_file"]}, "path": {"type": "string"}},
    "required": ["operation"],
}


@pytest.mark.case("NAM-05")
async def test_a_dotted_name_of_a_built_in_tool_names_its_operation(home: Path, tmp_path: Path) -> None:
    tool = ToolOf("file_operations", schema=OPERATIONS)
    call: JsonObject = {"call": "file_operations.read_file", "arguments": {"path": "a"}}
    async with open_chat(home, [[call], "Done."], settings={"working_directory": str(tmp_path)}) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        assert [arguments for arguments, _ in tool.calls] == [{"path": "a", "operation": "read_file"}]
        assert (await the_call(chat)).raw["tool"] == "file_operations"


@pytest.mark.parametrize("server", ["Mine", ""])
async def test_a_required_argument_with_a_default_is_filled_in_and_shown(home: Path, server: str) -> None:
    depth: JsonObject = {"type": "integer", "default": 3}
    place: JsonObject = {"type": "object", "properties": {"north": depth}, "required": ["north"]}
    schema: JsonObject = {
        "type": "object",
        "properties": {"depth": depth, "place": place, "name": {"type": "string", "default": None}, "wide": depth},
        "required": ["depth", "place"],
    }
    tool = ToolOf("mine__dig", schema=schema, server=server)
    async with open_chat(home, [[{"call": "mine__dig", "arguments": {"place": {}}}], "Done."]) as chat:
        give_tools(chat.host, tool)
        await chat.say(allow=ALLOWED)
        sent = {"place": {"north": 3}, "depth": 3}
        assert [arguments for arguments, _ in tool.calls] == [sent]
        assert (await the_call(chat)).raw["arguments"] == sent


async def test_a_required_argument_without_a_default_is_still_missing(home: Path) -> None:
    schema: JsonObject = {"properties": {"name": {"type": "string", "default": None}}, "required": ["name"]}
    async with open_chat(home, [[{"call": "mine__dig", "arguments": {}}], "Dug."]) as chat:
        give_tools(chat.host, ToolOf("mine__dig", schema=schema, server="Mine"))
        await chat.say(allow=ALLOWED)
        assert (await the_call(chat)).text == "Missing required parameter: name"


@pytest.mark.case("ERR-18", "ERR-17")
@pytest.mark.parametrize("name", ["file_operations.fly", "file_operations"])
async def test_an_unknown_operation_is_told_with_those_there_are(home: Path, tmp_path: Path, name: str) -> None:
    tool = ToolOf("file_operations", schema=OPERATIONS)
    call: JsonObject = {"call": name, "arguments": {"operation": "fly"}}
    async with open_chat(home, [[call], "Done."], settings={"working_directory": str(tmp_path)}) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        said = (await the_call(chat)).text
        assert said == "Invalid parameter operation: there is no operation fly; there are read_file, write_file"
        assert tool.calls == []


@pytest.mark.case("ERR-03", "F-31")
@pytest.mark.parametrize("name", ["files.write", "think.more", "nothing", "."])
async def test_an_unknown_name_is_told_to_the_model(home: Path, name: str) -> None:
    async with open_chat(home, [[{"call": name, "arguments": {}}], "Done."]) as chat:
        give_tools(chat.host, ToolOf("files__read", server="Files"), ToolOf("think"))
        assert (await chat.say()).status == "completed"
        assert (await the_call(chat)).raw["error"]["code"] == "TOOL_NOT_FOUND"


@pytest.mark.case("F-31", "TOOL-09")
async def test_whatever_a_model_asks_for_gets_a_result_and_the_run_goes_on(home: Path) -> None:
    odd = [
        {"call": "echo", "arguments": "{not json"},
        {"call": "echo", "arguments": {}, "id": "same"},
        {"call": "echo", "arguments": {}, "id": "same"},
        {"call": "", "arguments": {}},
        {"call": "nothing", "arguments": {}},
    ]
    many = [{"call": "echo", "arguments": {"n": n}} for n in range(200)]
    async with open_chat(home, [odd, many, "Done."]) as chat:
        give_tools(chat.host, ToolOf())
        assert (await chat.say()).status == "completed"
        calls = await chat.items("tool_call")
        assert len(calls) == len(odd) + limits.CALLS_PER_TURN
        assert len({call.raw["callId"] for call in calls}) == len(calls)
        assert [call.status for call in calls[: len(odd)]] == ["failed", "completed", "completed", "failed", "failed"]


@pytest.mark.case("NAM-06", "NAM-07", "NAM-17", "CON-02")
async def test_a_message_may_select_other_tools_than_its_conversation(home: Path) -> None:
    theirs, mine = (Selection(servers=(ServerChoice(name=name),)) for name in ("Files", "Mine"))
    async with open_chat(home, settings={}) as chat:
        box = give_tools(chat.host, ToolOf())
        await chat.say()
        run = await chat.settled((await chat.send()).run_id)
        assert run.options.selection is None
        # What a selection names is checked elsewhere; here only which one a run asks with.
        records = chat.host.api._records
        await records.change_conversation(ME, chat.id, lambda now: _selecting(now, theirs))
        await chat.say()
        box.asked.clear()
        await _say_with(chat, mine)
        await chat.say()
        assert [selection for selection, _ in box.asked] == [mine, theirs]


def _selecting(conversation: Any, selection: Selection) -> Any:
    settings = msgspec.structs.replace(conversation.settings, selection=selection)
    return msgspec.structs.replace(conversation, settings=settings)


async def _say_with(chat: Chat, selection: Selection) -> None:
    posting = await messages.posting(ME, chat.id, NewMessage(text="Hi", selection=selection))
    accepted = await chat.host.api._records.post_message(posting)
    await chat.host.api.runs._engine.start(accepted.conversation_id)
    await chat.settled(accepted.run_id)


@pytest.mark.case("NAM-10")
async def test_a_server_that_went_away_between_message_and_run_is_refused_again(home: Path) -> None:
    class Empty(Box):
        async def tools(self, wanted: ToolRequest) -> Any:
            raise PilothouseError("unknown_server", "There is no server Mine.")

    async with open_chat(home) as chat:
        give_tools(chat.host).tools = Empty().tools  # type: ignore[method-assign]
        run = await chat.say()
        assert run.status == "failed"
        assert run.error is not None
        assert (run.error.code, run.error.message) == ("unknown_server", "There is no server Mine.")


@pytest.mark.case("ERR-04", "ERR-01")
async def test_a_result_has_all_that_one_asks_of_it(home: Path) -> None:
    async def draws(arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        feedback.progress(1, 2, "Half")
        await asyncio.sleep(LAPSE)
        data = Part(kind="json", text='{"a":1}', media_type="application/json", name="figures")
        return ToolOutput(text="Drawn.", parts=(data,), data={"pages": 3})

    tool = ToolOf("draw")
    tool.reporting = draws
    async with open_chat(home, [[{"call": "draw", "arguments": {"n": 1}, "id": "call_7"}], "Done."]) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        call = await the_call(chat)
        assert (call.raw["tool"], call.raw["callId"], call.raw["isError"]) == ("draw", "call_7", False)
        assert (call.status, call.text, call.raw.get("error")) == ("completed", "Drawn.", None)
        [part] = call.raw["content"]
        assert (part["kind"], part["mediaType"], part["name"]) == ("json", "application/json", "figures")
        assert (part["text"], call.raw["pages"]) == ('{"a":1}', 3)
        assert call.raw["elapsedMs"] >= 1000 * LAPSE
        assert call.raw["progress"] == {"done": 1, "total": 2, "message": "Half"}


@pytest.mark.case("ERR-13", "ERR-01", "TCL-07", "TCL-20")
async def test_a_tools_own_error_is_shown_and_told(home: Path) -> None:
    async def refuses(arguments: JsonObject, context: CallContext) -> ToolOutput:
        await asyncio.sleep(LAPSE)
        return ToolOutput(text="No such repository: x/y", error=ToolError("TOOL_ERROR", "No such repository: x/y"))

    async with open_chat(home, [[{"call": "echo", "arguments": {}}], "I see."]) as chat:
        give_tools(chat.host, ToolOf(action=refuses))
        await chat.say()
        call = await the_call(chat)
        assert (call.status, call.text, call.raw["isError"]) == ("failed", "No such repository: x/y", True)
        assert call.raw["elapsedMs"] >= 1000 * LAPSE
        blocks = (block for message in history(await chat.items()) for block in message.content)
        [told] = [block for block in blocks if isinstance(block, ResultBlock)]
        assert (told.text, told.is_error) == ("No such repository: x/y", True)


@pytest.mark.case("TCL-23", "TCL-21")
async def test_a_tool_may_add_to_its_item_and_not_change_what_the_call_is(home: Path) -> None:
    async def adds(arguments: JsonObject, context: CallContext) -> ToolOutput:
        return ToolOutput(text="x", data={"attempts": 2, "arguments": {"forged": 1}, "callId": "forged", "tool": "rm"})

    async with open_chat(home, [[{"call": "echo", "arguments": {"a": 1}}], "Done."]) as chat:
        give_tools(chat.host, ToolOf(action=adds))
        await chat.say()
        data = (await the_call(chat)).raw
        assert (data["attempts"], data["arguments"], data["tool"]) == (2, {"a": 1}, "echo")
        assert data["callId"] != "forged"


async def test_the_guide_about_tools_is_in_the_prompt_and_not_in_the_settings(home: Path) -> None:
    async with open_chat(home, settings={"system_prompt": "Be brief."}) as chat:
        give_tools(chat.host, ToolOf(), guide="There are tools.")
        seen: list[str] = []
        opened = await chat.host.executor._parts.models.open(f"scripted:{chat.script}")
        stream = type(opened.model).stream

        def listening(self: Any, request: Any) -> Any:
            seen.append(request.system)
            return stream(self, request)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(type(opened.model), "stream", listening)
            await chat.say()
        assert seen == ["Be brief.\n\nThere are tools."]
        assert (await chat.snapshot()).conversation.settings.system_prompt == "Be brief."
