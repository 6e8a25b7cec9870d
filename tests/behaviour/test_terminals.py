"""Commands and a terminal in a conversation: asked about, run as shown, shared with the person."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.api import Answer
from pilothouse.types.items import Item
from pilothouse.types.terminals import TerminalSize
from tests.support.chats import ME, Chat, open_chat
from tests.support.waiting import eventually


def a_call(operation: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"call": "terminal_operations", "arguments": {"operation": operation, **arguments}}]


async def question(chat: Chat) -> Item:
    [found] = [item for item in await chat.items("question") if item.status == "waiting"]
    return found


@pytest.mark.case("TRM-01")
async def test_a_command_is_asked_about_as_it_will_run_and_then_run(home: Path, work: Path) -> None:
    turns = [a_call("run_command", command="echo made > file; cat file"), "Done."]
    async with open_chat(home, turns, settings={"working_directory": str(work)}) as chat:
        assert (await chat.say()).status == "waiting"
        asked = await question(chat)
        command = asked.raw["access"]["command"]
        assert (command["text"], command["sandbox"], command["network"]) == (
            "echo made > file; cat file",
            "bubblewrap",
            False,
        )
        assert not (work / "file").exists()
        await chat.api.questions.answer(ME, asked.id, Answer(choice="allow"))
        assert (await chat.settled(asked.run_id or "")).status == "completed"
        [call] = await chat.items("tool_call")
        assert (call.status, call.raw["exitCode"]) == ("completed", 0)
        assert call.text.endswith("made\n")
        assert call.raw["shown"]["summary"] == "Running: echo made > file; cat file"


@pytest.mark.case("TRM-20", "TRM-17")
async def test_what_the_agent_types_the_person_sees_and_the_other_way_round(home: Path, work: Path) -> None:
    typed = [a_call("create_session"), a_call("send_input", input="read name; echo hello $name\r"), "Typed."]
    turns = [*typed, a_call("get_output"), "Read."]
    async with open_chat(home, turns, settings={"working_directory": str(work)}) as chat:
        assert (await chat.say(allow=("terminal_operations.*",))).status == "completed"
        calls = await chat.items("tool_call")
        assert [call.raw["sessionId"] for call in calls] == [chat.id, chat.id]
        view = await chat.api.terminals.open(ME, chat.id, TerminalSize(columns=100, rows=30))
        assert view.session_id == chat.id
        await chat.api.terminals.type(ME, chat.id, b"sailor\r")

        said = b""
        async with asyncio.timeout(10), aclosing(await chat.api.terminals.output(ME, chat.id, 0)) as output:
            while b"hello sailor" not in said:
                said += (await anext(output))[1]
        assert (await chat.say("What does it say?")).status == "completed"
        assert "hello sailor" in (await chat.items("tool_call"))[-1].text


@pytest.mark.case("TRM-02", "CMD-08")
async def test_a_background_command_outlives_its_run_and_is_stopped_by_the_person(home: Path, work: Path) -> None:
    turns = [a_call("run_command", command="echo serving; sleep 90511001", is_background=True), "Started."]
    async with open_chat(home, turns, settings={"working_directory": str(work)}) as chat:
        assert (await chat.say(allow=("terminal_operations.*",))).status == "completed"
        [call] = await chat.items("tool_call")
        [process] = (await chat.api.terminals.list(ME, chat.id)).processes
        assert (process.id, process.item_id, process.ended_at) == (call.raw["processId"], call.id, None)

        async def output() -> bool:
            return "serving" in (await chat.api.terminals.process_output(ME, chat.id, process.id, 0)).output

        await eventually(output, "its output")
        assert (await chat.api.terminals.stop_process(ME, chat.id, process.id)).ended_at is not None


async def test_a_conversation_that_was_brought_back_keeps_its_recording_for_good(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(home, settings={"working_directory": str(work)}) as chat:
        await chat.api.terminals.open(ME, chat.id, TerminalSize(columns=80, rows=24))
        await chat.api.conversations.delete(ME, chat.id)
        await chat.api.conversations.restore(ME, chat.id)
        conversation = chat.id
    # Long after it could have been brought back.
    monkeypatch.setattr(limits, "UNDO_DELETE_DAYS", 0)
    async with open_chat(home) as chat:
        [session] = (await chat.api.terminals.list(ME, conversation)).sessions
        assert session.working_directory == str(work)
