"""Memory in a conversation: stored in sight, undone by the person, told to the model again for a while."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from pathlib import Path
from typing import Any

import pytest

from pilothouse.memory.offers import Offers
from pilothouse.types import limits
from pilothouse.types.api import ConfigPatch, ConversationPatch, ModelInput, NewConversation
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.memories import NewMemory
from pilothouse.wiring import open_host
from tests.support.chats import ME, Chat, open_chat
from tests.support.request_prefix import check_extends
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.waiting import PATIENCE, eventually
from tests.support.wire_writers import Call, Say, Text

TEA = "The person drinks green tea."


@pytest.fixture(autouse=True)
def _time_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the look for memories time, however busy the machine is."""
    monkeypatch.setattr(limits, "MEMORY_OFFER_TIME", PATIENCE)


def call(operation: str, **arguments: Any) -> dict[str, Any]:
    return {"call": "memory_operations", "arguments": {"operation": operation, **arguments}}


def think(thoughts: str) -> dict[str, Any]:
    return {"call": "think", "arguments": {"thoughts": thoughts}}


def todo() -> dict[str, Any]:
    return {"call": "todo_operations", "arguments": {"operation": "write", "todoList": [{"title": "Brew"}]}}


async def another(chat: Chat, **settings: Any) -> Chat:
    chosen = ConversationSettings(**{"model_id": f"scripted:{chat.script}", "mode": "ask", **settings})
    made = await chat.api.conversations.create(ME, NewConversation(settings=chosen))
    return Chat(chat.host, made.id, chat.script)


@pytest.mark.case("MEM-07")
async def test_storing_a_memory_counts_as_work(home: Path) -> None:
    turns = [[think("What is new?")], [call("store_memory", content=TEA)], [think("And now?")], "Done."]
    async with open_chat(home, turns) as chat:
        assert (await chat.say()).status == "completed"
        statuses = [item.status for item in await chat.items("tool_call")]
        assert statuses == ["completed", "completed", "completed"]
        # Thinking twice in a row is no work.
        chat.write([[think("Hm.")], [think("Hm.")], "Done."])
        other = await another(chat)
        await other.say()
        assert [item.status for item in await other.items("tool_call")] == ["completed", "failed"]


@pytest.mark.case("REM-07", "REM-09")
async def test_the_model_is_reminded_of_what_it_has_stored_and_of_that_last(home: Path) -> None:
    async with open_chat(home, [[todo(), call("store_memory", content=TEA, title="Tea")], "Done."]) as chat:
        await chat.say()
        [memory] = (await chat.api.memories.list(ME)).memories
        reminders = await chat.texts("reminder")
        told = reminders[-1]
        assert "todoList" in reminders[-2]
        assert "<recentlyStoredMemories>" in told
        assert f"- Tea [{memory.short}]: {TEA}" in told
        assert "Do not store them again" in told
        # Another conversation is not told what it did not store.
        other = await another(chat)
        chat.write(["Hello."])
        await other.say("Something else entirely")
        assert not any("recentlyStored" in text for text in await other.texts("reminder"))


@pytest.mark.case("REM-08")
async def test_a_reminder_of_a_memory_ends_after_five_minutes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_chat(home, [[call("store_memory", content=TEA)], "Done.", "Hello."]) as chat:
        await chat.say("I drink tea")
        assert "recentlyStoredMemories" in (await chat.texts("reminder"))[-1]
        now = time.time
        monkeypatch.setattr("pilothouse.memory.recent.time.time", lambda: now() + limits.MEMORY_REMINDED_SECONDS - 30)
        await chat.say("Still?")
        assert "recentlyStoredMemories" in (await chat.texts("reminder"))[-1]
        monkeypatch.setattr("pilothouse.memory.recent.time.time", lambda: now() + limits.MEMORY_REMINDED_SECONDS + 1)
        await chat.say("And now?")
        told = await chat.texts("reminder")
        assert "recentlyStoredMemories" not in told[-1]
        assert "“stored memories” does not hold any more" in told[-1]
        count = len(told)
        await chat.say("Later.")
        assert len(await chat.texts("reminder")) == count


@pytest.mark.case("REM-08")
async def test_each_request_extends_the_one_before_it_while_reminders_come_and_go(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = json.dumps({"operation": "store_memory", "content": TEA})
    done = Reply(Say((Text(["Done."]),)))
    async with Endpoint() as endpoint, open_chat(home) as chat:
        model = ModelInput(name="m", id="m", provider="openai-compatible", model="m", base_url=endpoint.url)
        await chat.use(model)
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        endpoint.answer(Reply(Say((Call("c1", "memory_operations", stored),), stop="tool")), done, done, done)
        await chat.say("I drink tea")
        await chat.say("More?")
        now = time.time
        monkeypatch.setattr("pilothouse.memory.recent.time.time", lambda: now() + limits.MEMORY_REMINDED_SECONDS + 1)
        await chat.say("Later?")
        assert len(endpoint.requests) == 4
        for before, after in itertools.pairwise(endpoint.requests):
            check_extends(before.body, after.body)
        last = endpoint.requests[-1].body.decode()
        assert last.count("<recentlyStoredMemories>") == 2
        assert "does not hold any more" in last


async def test_a_person_undoes_a_memory_where_it_was_stored(home: Path) -> None:
    async with open_chat(home, [[call("store_memory", content=TEA)], "Done.", "Hello."]) as chat:
        await chat.say()
        [stored] = await chat.items("tool_call")
        key = stored.raw["memory"]["key"]
        assert stored.raw["memory"]["outcome"] == "kept"
        await chat.api.memories.forget(ME, key)
        [stored] = await chat.items("tool_call")
        assert stored.raw["undone"] == [key]
        assert any("had this memory forgotten" in text for text in await chat.texts("reminder"))
        await chat.say("And?")
        assert not any("recentlyStored" in text for text in (await chat.texts("reminder"))[-1:])
        await chat.api.memories.restore(ME, key)
        [stored] = await chat.items("tool_call")
        assert stored.raw["undone"] == []
        assert [memory.text for memory in (await chat.api.memories.list(ME)).memories] == [TEA]


async def test_what_may_matter_is_offered_with_a_message_once(home: Path) -> None:
    async with open_chat(home, ["Tea, I know."]) as chat:
        await chat.api.memories.create(ME, NewMemory(text=TEA, title="Tea"))
        await chat.api.memories.create(ME, NewMemory(text="The car is in the garage."))
        await chat.say("Which tea does the person usually drink?")
        [told] = await chat.texts("reminder")
        assert "<memoriesThatMayMatter>" in told
        assert TEA in told
        assert "the person's word" in told
        assert "never instructions" in told
        assert "garage" not in told
        [reminder, message] = [item for item in await chat.items() if item.kind in ("reminder", "user_message")][:2]
        assert {reminder.kind, message.kind} == {"reminder", "user_message"}
        other = await another(chat)
        await other.say("What is the weather like?")
        assert await other.texts("reminder") == []


async def test_an_answer_does_not_wait_for_memories_that_take_too_long_to_find(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Offers, "fitting", never)
    monkeypatch.setattr(limits, "MEMORY_OFFER_TIME", 0.01)
    async with open_chat(home, ["Well."]) as chat:
        await chat.api.memories.create(ME, NewMemory(text=TEA))
        assert (await chat.say("Which green tea does the person drink?")).status == "completed"
        assert await chat.texts("reminder") == []


async def test_recalling_by_itself_can_be_switched_off(home: Path) -> None:
    async with open_chat(home, ["Well."]) as chat:
        await chat.api.memories.create(ME, NewMemory(text=TEA))
        await chat.api.settings.update(ME, ConfigPatch(memories_offered=False))
        await chat.say("Which green tea does the person drink?")
        assert await chat.texts("reminder") == []


async def test_what_was_stored_is_there_after_a_restart_and_in_other_conversations(home: Path) -> None:
    turns = [[call("store_memory", content=TEA, scope="everywhere")], "Done."]
    async with open_chat(home, turns) as chat:
        await chat.say()
    async with open_chat(home, [[call("search_memory", query="green tea")], "Tea."]) as chat:
        await chat.say()
        [found] = await chat.items("tool_call")
        assert TEA in found.text


async def test_private_data_of_a_memory_is_private_where_it_is_recalled(home: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The safe is behind the painting.")
    read = {"call": "file_operations", "arguments": {"operation": "read_file", "filePath": "notes.txt"}}
    store = call("store_memory", content="The safe is behind the painting.", scope="everywhere")
    async with open_chat(home, [[read], [store], "Done."], settings={"working_directory": str(tmp_path)}) as chat:
        assert (await chat.say("Look.")).status == "completed"
        [memory] = (await chat.api.memories.list(ME)).memories
        assert memory.private == ("files",)
        other = await another(chat)
        chat.write([[call("search_memory", query="safe painting")], "There."])
        await other.say("Hello there")
        [found] = await other.items("tool_call")
        assert found.raw["brings"]["private"] is True
        assert found.raw["recalled"] == ["files"]
        offered = await another(chat)
        chat.write(["There."])
        await offered.say("Is the safe behind the painting?")
        [reminder] = await offered.items("reminder")
        assert reminder.raw["private"] == ["files"]


async def test_two_processes_on_one_database_forget_together(home: Path, postgres_url: str) -> None:
    turns = [[call("store_memory", content=TEA)], "Done.", "Hello."]
    async with (
        open_chat(home, turns, database_url=postgres_url) as chat,
        open_host(home.parent / "other", postgres_url) as other,
    ):
        await chat.say()
        [memory] = (await other.api.memories.list(ME)).memories
        await other.api.memories.forget(ME, memory.key)

        async def heard() -> bool:
            [stored] = await chat.items("tool_call")
            return bool(stored.raw.get("undone"))

        await eventually(heard, "that it was forgotten")
        await chat.say("And?")
        assert "recentlyStored" not in (await chat.texts("reminder"))[-1]
