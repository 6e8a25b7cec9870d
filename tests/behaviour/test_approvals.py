"""A server's tools ask first: once, for the conversation, or never; what was allowed is what happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.api import Answer
from pilothouse.types.items import Item
from tests.support.chatting import ME, Chat, chatting
from tests.support.tools import ToolOf, give_tools

READ = "files__read"


def a_call(tool: str = READ, **arguments: Any) -> dict[str, Any]:
    return {"call": tool, "arguments": arguments}


async def open_questions(chat: Chat) -> list[Item]:
    return [item for item in await chat.items("question") if item.status == "waiting"]


async def answer(chat: Chat, question: Item, choice: str) -> str:
    """Answer, wait for the run to end or ask again, and return its state."""
    await chat.api.answer(ME, question.id, Answer(choice=choice))
    return (await chat.settled(question.run_id or "")).status


def reader(**more: Any) -> ToolOf:
    return ToolOf(READ, server="Files", **more)


@pytest.mark.case("TCL-02", "TCL-19", "TCL-20", "TCL-21")
async def test_a_servers_tool_asks_first_with_everything_in_view(home: Path) -> None:
    tool = reader()
    async with chatting(home, [[a_call(path="a.txt")], "Done."]) as chat:
        give_tools(chat.host, tool)
        assert (await chat.say()).status == "waiting"
        [question] = await open_questions(chat)
        [call] = await chat.items("tool_call")
        assert tool.calls == []
        assert question.text == "Allow files.read? It is a tool of the server Files."
        assert question.data["kind"] == "approval"
        assert question.data["callItemId"] == call.id
        assert question.data["serverTool"] == "files.read"
        assert question.data["description"] == "The tool files__read."
        assert [choice["id"] for choice in question.data["choices"]] == ["allow", "conversation", "always", "deny"]
        assert (call.status, call.data["phase"]) == ("waiting", "waiting_approval")
        assert (call.data["arguments"], call.data["server"]) == ({"path": "a.txt"}, "Files")
        assert await answer(chat, question, "allow") == "completed"
        [call] = await chat.items("tool_call")
        assert list(call.data["phases"]) == ["started", "args_received", "waiting_approval", "executing", "completed"]
        assert (call.text, call.data["isError"], call.data["arguments"]) == (
            "echo {'path': 'a.txt'}",
            False,
            {"path": "a.txt"},
        )


async def test_allowed_once_is_asked_again_the_next_time(home: Path) -> None:
    async with chatting(home, [[a_call(n=1)], [a_call(n=2)], "Done."]) as chat:
        give_tools(chat.host, reader())
        await chat.say()
        assert await answer(chat, (await open_questions(chat))[0], "allow") == "waiting"
        assert await answer(chat, (await open_questions(chat))[0], "allow") == "completed"


async def test_allowed_in_the_conversation_is_not_asked_again(home: Path) -> None:
    tool = reader()
    async with chatting(home, [[a_call(n=1)], [a_call(n=2)], "Done.", [a_call(n=3)], "Again."]) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        assert await answer(chat, (await open_questions(chat))[0], "conversation") == "completed"
        assert (await chat.say("More")).status == "completed"
        assert [arguments["n"] for arguments, _ in tool.calls] == [1, 2, 3]
        assert len(await chat.items("question")) == 1


async def test_what_was_allowed_survives_a_compaction_and_a_restart(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = reader()
    script = [
        [a_call(n=1)],
        "Done.",
        {"match": "again", "steps": [a_call(n=2)]},
        {"match": "again", "steps": ["Done again."]},
    ]
    async with chatting(home, script) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        await answer(chat, (await open_questions(chat))[0], "conversation")
        with monkeypatch.context() as patched:
            patched.setattr(limits, "COMPACT_ABOVE", 0.0)
            await chat.say("Make room")
        assert await chat.items("compaction")
        conversation = chat.id
    async with chatting(home, script) as chat:
        give_tools(chat.host, tool)
        chat.id = conversation
        assert (await chat.say("And again")).status == "completed"
        assert tool.calls[-1][0] == {"n": 2}
        assert len(await chat.items("question")) == 1


@pytest.mark.case("TOOL-02")
async def test_a_changed_definition_is_asked_about_again(home: Path) -> None:
    tool = reader()
    async with chatting(home, [[a_call(n=1)], "Done.", [a_call(n=2)], "Done."]) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        await answer(chat, (await open_questions(chat))[0], "conversation")
        tool.grant_key = "files__read as it is now"
        assert (await chat.say("More")).status == "waiting"
        assert len(tool.calls) == 1


async def test_another_conversation_knows_nothing_of_it(home: Path) -> None:
    tool = reader()
    async with chatting(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        await answer(chat, (await open_questions(chat))[0], "conversation")
    async with chatting(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        assert (await chat.say()).status == "waiting"


@pytest.mark.case("ERR-02", "ERR-03")
async def test_a_denial_reaches_the_model_and_nothing_is_done(home: Path) -> None:
    tool = reader()
    async with chatting(home, [[a_call(n=1)], "I see."]) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        assert await answer(chat, (await open_questions(chat))[0], "deny") == "completed"
        [call] = await chat.items("tool_call")
        assert (call.status, call.data["error"]["code"]) == ("failed", "PERMISSION_DENIED")
        assert call.text.startswith("The person did not allow this.")
        assert tool.calls == []
        assert await chat.texts("response") == ["", "I see."]


async def test_calls_of_one_turn_ask_side_by_side_and_run_when_all_are_answered(home: Path) -> None:
    read, write = reader(), ToolOf("files__write", server="Files")
    async with chatting(home, [[a_call(n=1), a_call("files__write", n=2)], "Done."]) as chat:
        give_tools(chat.host, read, write)
        await chat.say()
        first, second = await open_questions(chat)
        run = await chat.api.answer(ME, second.id, Answer(choice="deny"))
        assert run.status == "waiting"
        assert await answer(chat, first, "allow") == "completed"
        assert (len(read.calls), len(write.calls)) == (1, 0)


async def test_one_lasting_answer_settles_all_questions_about_the_same_tool(home: Path) -> None:
    read, write = reader(), ToolOf("files__write", server="Files")
    turn = [a_call(n=1), a_call("files__write", n=2), a_call(n=3)]
    async with chatting(home, [turn, "Done."]) as chat:
        give_tools(chat.host, read, write)
        await chat.say()
        first, second, _ = await open_questions(chat)
        run = await chat.api.answer(ME, first.id, Answer(choice="conversation"))
        assert (run.status, [item.id for item in await open_questions(chat)]) == ("waiting", [second.id])
        assert await answer(chat, second, "allow") == "completed"
        assert [arguments["n"] for arguments, _ in read.calls] == [1, 3]


@pytest.mark.parametrize("pattern", ["files.read", "files.*", "Files.*", "files__read"])
async def test_what_a_run_was_allowed_beforehand_needs_no_question(home: Path, pattern: str) -> None:
    tool = reader()
    async with chatting(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        assert (await chat.say(allow=(pattern,), unattended=True)).status == "completed"
        assert len(tool.calls) == 1


@pytest.mark.parametrize("pattern", ["*", "file.*", "files.rea*", "files.write", ""])
async def test_nothing_else_is_allowed_by_a_pattern(home: Path, pattern: str) -> None:
    async with chatting(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, reader())
        assert (await chat.say(allow=(pattern,))).status == "waiting"


async def test_a_server_that_says_its_tool_touches_nothing_is_asked_about_all_the_same(home: Path) -> None:
    async with chatting(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, reader(effects=frozenset()))
        assert (await chat.say()).status == "waiting"


async def test_a_call_cancelled_while_it_waits_for_leave_is_not_asked_about_any_more(home: Path) -> None:
    tool = reader()
    async with chatting(home, [[a_call(n=1)], "Never mind."]) as chat:
        give_tools(chat.host, tool)
        run = await chat.say()
        [call] = await chat.items("tool_call")
        await chat.api.cancel_call(ME, call.id)
        assert (await chat.settled(run.id)).status == "completed"
        [call], [question] = await chat.items("tool_call"), await chat.items("question")
        assert (call.status, question.status, tool.calls) == ("cancelled", "cancelled", [])
        assert call.data["error"]["message"] == "Operation cancelled by user"


async def test_stopping_a_run_that_asks_ends_its_calls_and_questions(home: Path) -> None:
    async with chatting(home, [[a_call(n=1), a_call(n=2)], "Done."]) as chat:
        give_tools(chat.host, reader())
        run = await chat.say()
        assert (await chat.api.cancel_run(ME, run.id)).status == "cancelled"
        assert {item.status for item in await chat.items("tool_call", "question")} == {"cancelled"}


async def test_an_open_question_survives_a_restart(home: Path) -> None:
    tool = reader()
    async with chatting(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        run, conversation = await chat.say(), chat.id
    async with chatting(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        chat.id = conversation
        [question] = await open_questions(chat)
        assert await answer(chat, question, "allow") == "completed"
        assert [item.run_id for item in await chat.items("tool_call")] == [run.id]
        assert len(tool.calls) == 1
