"""Arguments that the person changes before they allow a call: judged anew, recorded, carried out, and told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pilothouse.agent.history import history
from pilothouse.types.api import Answer, Answers
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from pilothouse.types.messages import CallBlock, ResultBlock
from tests.adversarial.test_call_secrets import SECRET, a_call, check_nowhere, got, knows, sender, the_question
from tests.support.chats import ME, Chat, open_chat
from tests.support.tools import ToolOf, give_tools


async def change(chat: Chat, choice: str = "allow", **arguments: Any) -> str:
    """Answer the open question with other arguments; return what the run comes to."""
    question = await the_question(chat)
    await chat.api.questions.answer(ME, question.id, Answer(choice=choice, arguments=arguments))
    return (await chat.settled(question.run_id or "")).status


async def the_call(chat: Chat) -> Item:
    [call] = await chat.items("tool_call")
    return call


def create(path: str) -> dict[str, Any]:
    return {"operation": "create_file", "filePath": path, "content": "x\n"}


async def test_what_was_changed_is_carried_out_recorded_and_told_to_the_model(home: Path) -> None:
    tool = sender()
    async with open_chat(home, [[a_call(to="all", n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        assert await change(chat, to="me", n=1) == "completed"
        assert got(tool) == [{"to": "me", "n": 1}]
        call = await the_call(chat)
        assert (call.raw["arguments"], call.raw["askedArguments"]) == ({"to": "me", "n": 1}, {"to": "all", "n": 1})
        assert (call.raw["decision"]["authority"], call.raw["decision"]["by"]) == ("person", ME)
        assert len(await chat.items("question")) == 1
        blocks = [block for message in history((await chat.snapshot()).items) for block in message.content]
        [asked] = [block for block in blocks if isinstance(block, CallBlock)]
        [result] = [block for block in blocks if isinstance(block, ResultBlock)]
        assert asked.arguments == {"to": "all", "n": 1}, "the model's own words stay what they were"
        assert "The person changed the arguments of this call" in result.text
        assert '{"to":"me","n":1}' in result.text


async def test_a_change_that_stands_out_is_asked_about_by_itself(home: Path, tmp_path: Path) -> None:
    inside = tmp_path / "boat"
    inside.mkdir()
    turns = [[a_call("file_operations", **create("a.md"))], "Done."]
    async with open_chat(home, turns, settings={"working_directory": str(inside)}) as chat:
        await chat.say()
        assert await change(chat, **create(str(tmp_path / "outside.md"))) == "waiting"
        assert not (tmp_path / "outside.md").exists()
        question = await the_question(chat)
        assert question.raw["rule"] == "outside"
        assert "outside.md" in (await the_call(chat)).raw["display"]
        assert await change(chat, **create("b.md")) == "waiting", "asked about for another reason than before"
        await chat.api.questions.answer(ME, (await the_question(chat)).id, Answer(choice="allow"))
        await chat.settled(question.run_id or "")
        assert [path.name for path in inside.iterdir()] == ["b.md"]
        assert (await the_call(chat)).raw["askedArguments"] == create("a.md")


@pytest.mark.case("AUTHZ-12")
async def test_a_command_that_becomes_dangerous_is_not_run_with_the_same_word(home: Path, tmp_path: Path) -> None:
    command = {"operation": "run_command", "command": "echo safe"}
    turns = [[a_call("terminal_operations", **command)], "Done."]
    async with open_chat(home, turns, settings={"working_directory": str(tmp_path)}) as chat:
        await chat.say()
        assert await change(chat, **command | {"command": "sudo rm -rf /"}) == "waiting"
        question = await the_question(chat)
        assert question.raw["dangerous"]
        assert "executing" not in (await the_call(chat)).raw["phases"]
        assert await change(chat, **command | {"command": "sudo rm -rf ."}) == "waiting", "nor with the next"


async def test_what_the_tool_does_not_take_is_refused_and_the_question_stays(home: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = ToolOf("mail__send", server="Mail", schema=schema)
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        question = await the_question(chat)
        assert question.raw["parameters"] == schema
        for body, said in (
            (Answer(choice="allow", arguments={}), "Missing required parameter: n"),
            (Answer(choice="allow", arguments={"n": "one"}), "n"),
            (Answer(choice="conversation", arguments={"n": 2}), "go along with “allow”"),
            (Answer(choice="deny", arguments={"n": 2}), "go along with “allow”"),
        ):
            with pytest.raises(PilothouseError, match=said):
                await chat.api.questions.answer(ME, question.id, body)
        many = Answers(item_ids=(question.id, "i_other"), answer=Answer(choice="allow", arguments={"n": 2}))
        taken = (await chat.api.questions.answer_many(ME, many)).answers
        assert [one.taken for one in taken] == [False, False]
        assert got(tool) == []
        assert (await the_call(chat)).raw["arguments"] == {"n": 1}


@pytest.mark.case("SECRET-01")
async def test_a_secret_in_changed_arguments_stands_nowhere_and_one_that_is_there_is_not_changed(home: Path) -> None:
    tool = sender()
    async with open_chat(home, [[a_call(text="hello")], "Done.", [a_call(text=SECRET)], "Done."]) as chat:
        await knows(chat)
        give_tools(chat.host, tool)
        await chat.say()
        assert await change(chat, text=f"key {SECRET}") == "completed"
        assert got(tool) == [{"text": f"key {SECRET}"}]
        told = [await chat.snapshot()]
        await chat.say("Again")
        with pytest.raises(PilothouseError, match="hold a secret"):
            await change(chat, text="mine")
        [waiting] = (await chat.api.permissions.approvals(ME)).pending
        assert (waiting.masked, waiting.arguments) == (True, {"text": "[redacted]"})
        told.append(await chat.snapshot())
    check_nowhere(home, *told)
