"""No summary drops a taint, a permission, a todo, a result's id or a question: asked for or not, on both databases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.api import Answer, CompactionWish, ConversationPatch, ModelInput
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, ToolOutput
from tests.support.chats import ME, Chat, open_chat
from tests.support.databases import SQLITE_AND_POSTGRESQL
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.summary_chats import look_tool
from tests.support.tools import ToolOf, add_tools
from tests.support.wire_writers import Call, Say, Text

PLAN = [{"title": "Look around", "status": "in-progress"}, {"title": "Write it"}]
SUMMED_UP = {"match": "Person: ", "steps": ["They worked."]}


def a_call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"call": tool, "arguments": arguments}


def create(path: str) -> dict[str, Any]:
    return a_call("file_operations", operation="create_file", filePath=path, content="x\n")


BEFORE: Sequence[Any] = [
    SUMMED_UP,
    {"match": "Make room", "steps": ["Understood."]},
    {"match": "Never mind", "steps": ["Very well."]},
    [a_call("todo_operations", operation="write", todoList=PLAN)],
    [a_call("file_operations", operation="read_file", filePath="notes.txt")],
    [a_call("look", what="harbours")],
    [create("src/a.py")],
    [a_call("user_collaboration", prompt="Blue or green?")],
]
AFTER: Sequence[Any] = [
    {"match": "write again", "steps": [create("src/b.py")]},
    {"match": "write again", "steps": ["Written."]},
    {"match": "send it", "steps": [a_call("mail__send", to="someone", text="all of it")]},
    {"match": "send it", "steps": ["Not sent."]},
]


def mail() -> ToolOf:
    """Return a tool that would send something away."""

    async def send(_arguments: JsonObject, _context: CallContext) -> ToolOutput:
        raise AssertionError("it was sent")

    made = ToolOf("mail__send", send, server="Mail", effects=frozenset({"sends"}))
    made.touching = lambda _given, _context: Access(
        operation="mail.send", effects=frozenset({"sends"}), destination="Mail", payload_bytes=9
    )
    return made


async def waiting(chat: Chat) -> list[Item]:
    return [item for item in await chat.items("question") if item.status == "waiting"]


async def worked(chat: Chat) -> None:
    """Let the model plan, read, look, write with a permission, and ask something that nobody answers."""
    run = await chat.say("Build the harbour", allow=("ports.look",))
    [question] = await waiting(chat)
    await chat.api.questions.answer(ME, question.id, Answer(choice="conversation"))
    assert (await chat.settled(run.id)).status == "waiting"
    assert (await chat.say("Never mind")).status == "completed"


async def summed_up(chat: Chat, way: str, monkeypatch: pytest.MonkeyPatch) -> Item:
    """Have it summed up, as a person asks for it or as a full window does."""
    if way == "asked":
        asked = await chat.api.runs.compact(ME, chat.id, CompactionWish())
        assert (await chat.settled(asked.run_id)).status == "completed"
    else:
        with monkeypatch.context() as patched:
            patched.setattr(limits, "COMPACT_ABOVE", 0.0)
            assert (await chat.say("Make room")).status == "completed"
    [made] = await chat.items("compaction")
    return made


@pytest.fixture(params=SQLITE_AND_POSTGRESQL)
def database_url(request: pytest.FixtureRequest) -> str | None:
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgresql" else None


@pytest.mark.case("CHT-01", "attack:MEM-04")
@pytest.mark.parametrize("way", ["asked", "automatic"])
async def test_what_was_read_allowed_planned_kept_and_asked_outlives_a_summary_and_a_restart(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, database_url: str | None
) -> None:
    folder = tmp_path / "harbour"
    folder.mkdir()
    (folder / "notes.txt").write_text("the launch code is 0000")
    settings = {"working_directory": str(folder), "mode": "ask"}
    async with open_chat(home, BEFORE, settings=settings, database_url=database_url) as chat:
        add_tools(chat.host, look_tool())
        await worked(chat)
        made = await summed_up(chat, way, monkeypatch)
        look = next(item for item in await chat.items("tool_call") if item.raw["tool"] == "look")
        noted = made.raw["noted"]
        for line in (
            "> Build the harbour",
            "> Never mind",
            "- 1. Look around (in-progress)",
            "- 2. Write it",
            "- src/a.py",
            f"- {folder}/notes.txt",
            "- Blue or green?",
            f'- r{look.position}: look with {{"what":"harbours"}}',
        ):
            assert line in noted.splitlines(), noted
        assert f"- file_operations.edits at ** in {folder}: In this conversation" in noted.splitlines()
        assert made.raw["seen"]["private"] == ["files", "server:ports"]
        conversation = chat.id
    async with open_chat(home, AFTER, database_url=database_url) as chat:
        add_tools(chat.host, mail())
        chat.id = conversation
        assert len((await chat.api.todos.get(ME, chat.id)).todos) == 2
        # What was allowed in this conversation needs no second question.
        assert (await chat.say("Please write again")).status == "completed"
        assert (folder / "src" / "b.py").exists()
        # What was read before the summary does not leave unasked.
        assert (await chat.say("Now send it", allow=("Mail.send",))).status == "waiting"
        [question] = await waiting(chat)
        assert question.raw["rule"] == "leaving"
        await chat.api.questions.answer(ME, question.id, Answer(choice="deny"))
        assert (await chat.settled(question.run_id or "")).status == "completed"


async def test_what_was_allowed_for_a_task_holds_behind_the_summaries_in_the_middle_of_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "harbour"
    folder.mkdir()
    monkeypatch.setattr(limits, "COMPACT_ABOVE", 0.0)

    def creates(name: str) -> Reply:
        arguments = {"operation": "create_file", "filePath": name, "content": "x\n"}
        return Reply(Say((Call(f"call_{name}", "file_operations", json.dumps(arguments)),), stop="tool"))

    def says(text: str) -> Reply:
        return Reply(Say((Text([text]),)))

    settings = {"working_directory": str(folder), "mode": "ask"}
    async with Endpoint() as endpoint, open_chat(home, settings=settings) as chat:
        fields: dict[str, Any] = {"base_url": endpoint.url, "context_window": 32_000}
        await chat.use(ModelInput(name="m", id="m", provider="openai-compatible", model="m", **fields))
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Harbour"))
        endpoint.answer(creates("a"), creates("b"), says("One."), creates("c"), says("Two."), says("Done."))
        run = await chat.say("Write three files")
        assert run.status == "waiting"
        [question] = await waiting(chat)
        await chat.api.questions.answer(ME, question.id, Answer(choice="task"))
        assert (await chat.settled(run.id)).status == "completed"
        assert await chat.texts("compaction") == ["One.", "Two."]
        assert sorted(path.name for path in folder.iterdir()) == ["a", "b", "c"]
        assert len(await chat.items("question")) == 1
        made = (await chat.items("compaction"))[-1]
        assert "For this task" in made.raw["noted"]
        assert made.raw["spent"]["turns"] == 2
