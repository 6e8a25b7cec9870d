"""A secret that we know, in the arguments of a call: whoever is called gets it, and nobody else reads it anywhere."""

from __future__ import annotations

import asyncio
import base64
import gzip
import itertools
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pilothouse.types.api import Answer, ModelInput
from pilothouse.types.exchange import ExportFormat
from pilothouse.types.items import Item
from pilothouse.types.json import encode
from pilothouse.wiring.backups import back_up
from tests.support.chats import ME, Chat, open_chat
from tests.support.request_prefix import check_extends
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.tools import ToolOf, give_tools
from tests.support.waiting import eventually
from tests.support.wire_writers import Call, Say, Text

SECRET = "sk-canary/call+5be1f09c62=="
SEND = "mail__send"
ENCODED = {
    "url": quote(SECRET, safe=""),
    "json": json.dumps({"key": SECRET}),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "deep": [{"headers": {"Authorization": f"Bearer {SECRET}"}}],
}
FORMS = [SECRET, quote(SECRET, safe=""), json.dumps(SECRET)[1:-1], base64.b64encode(SECRET.encode()).decode()]


def a_call(tool: str = SEND, **arguments: Any) -> dict[str, Any]:
    return {"call": tool, "arguments": arguments}


def sender() -> ToolOf:
    return ToolOf(SEND, server="Mail")


def got(tool: ToolOf) -> list[Any]:
    """Return the arguments that the tool was called with."""
    return [arguments for arguments, *_ in tool.calls]


async def knows(chat: Chat) -> None:
    """Have the secret kept as a model's key."""
    fields: dict[str, Any] = {"provider": "openai-compatible", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
    await chat.api.models.add(ME, ModelInput(name="keyed", api_key=SECRET, **fields))


async def the_question(chat: Chat) -> Item:
    [question] = [item for item in await chat.items("question") if item.status == "waiting"]
    return question


async def allow(chat: Chat, choice: str = "allow") -> str:
    question = await the_question(chat)
    await chat.api.questions.answer(ME, question.id, Answer(choice=choice))
    return (await chat.settled(question.run_id or "")).status


def check_nowhere(home: Path, *told: object) -> None:
    """Fail if the secret, or a form of it, stands in a file of ours or in what people are told."""
    files = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    for form in FORMS:
        assert not [path.name for path, content in files.items() if form.encode() in content]
        assert not [said for said in told if form.encode() in encode(said)]


@pytest.mark.case("SECRET-01", "SECRET-08", "AUT-28")
async def test_a_known_secret_in_a_calls_arguments_reaches_its_server_and_stands_nowhere(home: Path) -> None:
    tool = sender()
    given: dict[str, Any] = {"text": f"the key is {SECRET}, keep it", "to": "me", **ENCODED}
    async with open_chat(home, [[a_call(**given)], "Done."]) as chat:
        await knows(chat)
        give_tools(chat.host, tool)
        assert (await chat.say()).status == "waiting"
        told = [await chat.snapshot(), await chat.api.permissions.approvals(ME), await the_question(chat)]
        assert await allow(chat) == "completed"
        [call] = await chat.items("tool_call")
        told += [await chat.snapshot(), await chat.api.permissions.audit(ME, chat.id), call]
        assert call.raw["arguments"]["text"] == "the key is [redacted], keep it"
        assert call.raw["arguments"]["to"] == "me"
        assert got(tool) == [given]
    check_nowhere(home, *told)


@pytest.mark.case("SECRET-08")
async def test_exports_the_record_and_a_backup_say_all_of_a_call_but_its_secret(home: Path, tmp_path: Path) -> None:
    formats: tuple[ExportFormat, ...] = ("json", "markdown")
    given: dict[str, Any] = {"text": f"the key is {SECRET}", **ENCODED}
    async with open_chat(home, [[a_call(**given)], "Done."]) as chat:
        await knows(chat)
        give_tools(chat.host, sender())
        await chat.say()
        assert await allow(chat) == "completed"
        files = [await chat.api.exchange.export_conversation(ME, chat.id, form) for form in formats]
        told = [b"".join([chunk async for chunk in file.chunks]) for file in files]
        told.append(encode(await chat.api.permissions.audit(ME, chat.id)))
    copy = tmp_path / "copy.jsonl.gz"
    await asyncio.to_thread(back_up, copy, replace=False)
    told.append(gzip.decompress(copy.read_bytes()))
    for text in told:
        assert b"the key is [redacted]" in text
        assert not [form for form in FORMS if form.encode() in text]


async def test_a_call_without_a_secret_is_kept_as_it_was_made_and_offers_what_it_offered(home: Path) -> None:
    tool = sender()
    given: dict[str, Any] = {"text": "sk-nothing that we know", "n": 1, "list": [1, {"a": None}]}
    async with open_chat(home, [[a_call(**given)], "Done."]) as chat:
        await knows(chat)
        give_tools(chat.host, tool)
        await chat.say()
        question = await the_question(chat)
        offered = [choice["id"] for choice in question.raw["choices"]]
        assert offered == ["allow", "task", "while", "conversation", "always", "deny"]
        assert await allow(chat) == "completed"
        [call] = await chat.items("tool_call")
        assert call.raw["arguments"] == given == got(tool)[0]
        assert not {"sealed", "masked"} & call.raw.keys()


async def test_a_tool_with_a_secret_in_its_arguments_can_be_allowed_for_good_like_any_other(home: Path) -> None:
    tool = sender()
    async with open_chat(home, [[a_call(text=SECRET)], [a_call(text=f"{SECRET} again")], "Done."]) as chat:
        await knows(chat)
        give_tools(chat.host, tool)
        await chat.say()
        assert await allow(chat, "conversation") == "completed", "the second call is asked about by nobody"
        assert [call["text"] for call in got(tool)] == [SECRET, f"{SECRET} again"]


async def waiting_call(home: Path, tool: ToolOf) -> str:
    """Have a call with a secret wait for its answer when the program ends; return its conversation."""
    async with open_chat(home, [[a_call(text=SECRET)], "Done."]) as chat:
        await knows(chat)
        give_tools(chat.host, tool)
        await chat.say()
        return chat.id


async def test_what_was_allowed_after_a_restart_is_the_real_call(home: Path) -> None:
    tool = sender()
    conversation = await waiting_call(home, tool)
    check_nowhere(home)
    async with open_chat(home, [[a_call(text=SECRET)], "Done."]) as chat:
        give_tools(chat.host, tool)
        chat.id = conversation
        assert await allow(chat) == "completed"
        [call] = await chat.items("tool_call")
        assert got(tool) == [{"text": SECRET}]
        assert call.raw["sealed"] is None, "what was needed to make the call is needed no more"
    check_nowhere(home)


async def test_a_call_whose_secret_cannot_be_opened_any_more_says_so_and_calls_nobody(home: Path) -> None:
    tool = sender()
    conversation = await waiting_call(home, tool)
    (home / "secrets" / "sealing-key.secret").unlink()
    async with open_chat(home, [[a_call(text=SECRET)], "Done."]) as chat:
        give_tools(chat.host, tool)
        chat.id = conversation
        assert await allow(chat) == "completed"
        [call] = await chat.items("tool_call")
        assert (call.status, call.raw["error"]["code"], tool.calls) == ("failed", "ARGUMENTS_LOST", [])
        assert call.text.endswith("Nothing was carried out; make the call again.")


async def test_a_secret_that_was_kept_in_another_life_of_the_program_is_known_from_its_start(home: Path) -> None:
    tool = sender()
    async with open_chat(home) as chat:
        await knows(chat)
    async with open_chat(home, [[a_call(text=SECRET)], "Done."]) as chat:
        give_tools(chat.host, tool)

        async def learned() -> bool:
            return SECRET not in chat.host.redactor.redact(SECRET)

        await eventually(learned, "the secret is known")
        await chat.say()
        assert (await the_question(chat)).raw["callItemId"]
        [call] = await chat.items("tool_call")
        assert call.raw["arguments"] == {"text": "[redacted]"}
    check_nowhere(home)


async def test_the_model_is_sent_what_is_kept_and_each_request_extends_the_one_before_it(home: Path) -> None:
    tool = sender()

    def calls(first: int) -> list[Reply]:
        made = [
            Say((Call(f"c{n}", SEND, json.dumps({"text": f"{SECRET} {n}"})),), stop="tool") for n in (first, first + 1)
        ]
        return [*(Reply(say) for say in made), Reply(Say((Text(["Done."]),)))]

    async with Endpoint() as endpoint:
        conversation = ""
        for life in range(2):
            async with open_chat(home) as chat:
                give_tools(chat.host, tool)
                if conversation:
                    chat.id = conversation
                else:
                    await knows(chat)
                    await chat.use(
                        ModelInput(name="m", id="m", provider="openai-compatible", model="m", base_url=endpoint.url)
                    )
                    conversation = chat.id
                endpoint.answer(*calls(2 * life))
                run = await chat.say("Go", allow=("mail.send",))
                assert run.status == "completed", run.error
        bodies = [request.body for request in endpoint.requests if b'"tools"' in request.body]
    assert [call["text"] for call in got(tool)] == [f"{SECRET} {n}" for n in range(4)]
    assert b"[redacted] 3" in bodies[-1]
    assert SECRET.encode() not in bodies[-1]
    for before, after in itertools.pairwise(bodies):
        check_extends(before, after)


async def test_a_command_with_a_secret_is_run_as_it_is_and_no_rule_with_it_is_offered(
    home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    command = f"printf %s '{SECRET}' | wc -c > size.txt"
    run = a_call("terminal_operations", operation="run_command", command=command)
    async with open_chat(home, [[run], "Done."], settings={"working_directory": str(folder)}) as chat:
        await knows(chat)
        assert (await chat.say()).status == "waiting"
        question = await the_question(chat)
        assert [choice["id"] for choice in question.raw["choices"]] == ["allow", "deny"]
        assert await allow(chat) == "completed"
        assert (folder / "size.txt").read_text().strip() == str(len(SECRET))
        told = [await chat.snapshot(), await chat.api.permissions.audit(ME, chat.id)]
    check_nowhere(home, *told)


async def test_what_only_keeps_what_it_is_told_is_not_told_a_secret(home: Path) -> None:
    todos = [{"title": f"Use {SECRET}", "description": SECRET, "status": "not-started", "id": 1}]
    call = a_call("todo_operations", operation="write", todoList=todos)
    async with open_chat(home, [[call], "Done."]) as chat:
        await knows(chat)
        assert (await chat.say()).status == "completed"
        [made] = await chat.items("tool_call")
        assert made.status == "completed", made.text
        kept = await chat.api.todos.get(ME, chat.id)
        assert [todo.title for todo in kept.todos] == ["Use [redacted]"]
    check_nowhere(home)


async def test_arguments_that_are_no_json_are_masked_too(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await knows(chat)
        give_tools(chat.host, sender())
        await chat.use(ModelInput(name="m", id="m", provider="openai-compatible", model="m", base_url=endpoint.url))
        broken = Say((Call("c1", SEND, f'{{"text": "{SECRET}", '),), stop="tool")
        endpoint.answer(Reply(broken), Reply(Say((Text(["Done."]),))))
        await chat.say("Go")
        [call] = await chat.items("tool_call")
        assert "[redacted]" in call.raw["rawArguments"]
    check_nowhere(home)


async def test_a_command_in_the_background_is_listed_without_its_secret(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    command = f"printf %s '{SECRET}' | wc -c > size.txt; sleep 60"
    run = a_call("terminal_operations", operation="run_command", command=command, is_background=True)
    async with open_chat(home, [[run], "Done."], settings={"working_directory": str(folder)}) as chat:
        await knows(chat)
        assert (await chat.say(allow=("terminal_operations.run_command",))).status == "completed"
        listed = await chat.api.terminals.list(ME, chat.id)
        [background] = listed.processes
        assert "wc -c" in background.command
        check_nowhere(home, listed)
