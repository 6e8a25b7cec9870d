"""More runs than slots wait in turn and say so; more than may wait are refused, and nothing of them is kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.api import MessageAccepted, NewConversation, NewMessage
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemUpdated, RunUpdated, event_decoder
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.waiting import eventually


@pytest.fixture
def one_slot(home: Path) -> Path:
    """Return a data folder of a host that gets one answer at a time, and lets three messages wait."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "config.json").write_text(json.dumps({"version": "1.0", "runs_at_once": 1, "most_waiting": 3}))
    return home


def held(go: Path) -> list[Any]:
    """Return an answer that ends when a file is there."""
    return ["Let me see. ", {"wait": PATIENCE, "until": str(go)}, "Done."]


@asynccontextmanager
async def at_work(home: Path, go: Path) -> AsyncIterator[tuple[Chat, MessageAccepted]]:
    """A chat at work on its first message until a file is there."""
    async with open_chat(home, [held(go)]) as chat:
        first = await chat.send("First")
        await chat.until_streaming("Let me see")
        yield chat, first


async def another(chat: Chat) -> Chat:
    """Return another conversation with the same model."""
    settings = ConversationSettings(model_id=f"scripted:{chat.script}")
    made = await chat.api.conversations.create(ME, NewConversation(title="Another", settings=settings))
    return Chat(chat.host, made.id, chat.script)


async def slot_of(chat: Chat, run_id: str) -> int:
    """Return how many come before a run, as a reader of its conversation is told."""
    async with asyncio.timeout(PATIENCE), aclosing(await chat.api.conversations.events(ME, chat.id, 0)) as feed:
        async for batch in feed:
            for sent in batch:
                event = event_decoder.decode(sent.json)
                if isinstance(event, ItemUpdated) and event.data.get("slot", {}).get("runId") == run_id:
                    assert sent.seq == 0, "it need not be kept"
                    return int(event.data["slot"]["before"])
    raise AssertionError("the feed ended")


async def test_runs_that_find_no_slot_wait_and_are_told_how_many_come_before_them(
    one_slot: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    async with at_work(one_slot, go) as (chat, first):
        others = [await another(chat) for _ in range(2)]
        sent = [await other.send("Later") for other in others]
        for before, (other, one) in enumerate(zip(others, sent, strict=True)):
            assert (await chat.api.runs.get(ME, one.run_id)).status == "queued"
            assert await slot_of(other, one.run_id) == before
        go.touch()
        assert (await chat.settled(first.run_id)).status == "completed"
        for other, one in zip(others, sent, strict=True):
            assert (await other.settled(one.run_id)).status == "completed"


async def test_one_that_was_stopped_or_deleted_while_it_waited_is_not_counted_any_more(
    one_slot: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    async with at_work(one_slot, go) as (chat, first):
        stopped, deleted, last = [await another(chat) for _ in range(3)]
        await chat.api.runs.cancel(ME, (await stopped.send("Stopped")).run_id)
        await deleted.send("Deleted")
        await chat.api.conversations.delete(ME, deleted.id)
        sent = await last.send("Later")
        assert await slot_of(last, sent.run_id) == 0
        go.touch()
        assert (await chat.settled(first.run_id)).status == "completed"
        assert (await last.settled(sent.run_id)).status == "completed"


async def test_a_conversation_with_many_messages_does_not_keep_the_others_waiting(
    one_slot: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    async with open_chat(one_slot, [held(go), "Yes.", "Yes."]) as chat:
        # When each began, by what the server says: what is read of two conversations may come in any order.
        began: dict[str, float] = {}

        async def watch(one: Chat) -> None:
            async with aclosing(await chat.api.conversations.events(ME, one.id, 0)) as feed:
                async for batch in feed:
                    for event in (event_decoder.decode(sent.json) for sent in batch if sent.seq):
                        if isinstance(event, RunUpdated) and event.run.status == "running":
                            began.setdefault(event.run.id, event.run.updated_at)

        quiet = await another(chat)
        watching = [asyncio.create_task(watch(one)) for one in (chat, quiet)]
        many = [await chat.send("First")]
        await chat.until_streaming("Let me see")
        many += [await chat.send(f"More {number}") for number in range(2)]
        alone = await quiet.send("Just one")
        go.touch()
        for one in many:
            await chat.settled(one.run_id)
        await quiet.settled(alone.run_id)
        await eventually(lambda: asyncio.sleep(0, len(began) == 4), "all to be begun")
        for task in watching:
            task.cancel()
        await asyncio.wait(watching)
        begun = sorted(began, key=began.__getitem__)
        assert [run_id for run_id in begun if run_id != alone.run_id] == [one.run_id for one in many]
        assert begun.index(alone.run_id) < 3, "it came before the last of the many"


async def test_a_message_beyond_those_that_may_wait_is_refused_and_nothing_of_it_is_kept(
    one_slot: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    async with open_chat(one_slot, [held(go), "Yes."]) as chat:
        await chat.send("First")
        await chat.until_streaming("Let me see")
        other = await another(chat)
        waiting = [await other.send(f"Waits {number}") for number in range(2)] + [await chat.send("Waits too")]
        before = (await other.snapshot()).last_seq
        with pytest.raises(PilothouseError) as refused:
            await other.send("One too many", idempotency_key="mine")
        assert (refused.value.code, refused.value.http_status, refused.value.retry_after) == ("too_many", 429, 5)
        assert "3 messages wait for their answer already, so this one was not taken." in str(refused.value)
        assert "Send it again in 5 seconds or more" in str(refused.value)
        assert (await other.snapshot()).last_seq == before
        go.touch()
        for one in waiting:
            await eventually(lambda one=one: _ended(chat, one.run_id), "what waited to be answered")  # type: ignore[misc]
        again = await other.send("One too many", idempotency_key="mine")
        assert (await other.settled(again.run_id)).status == "completed"


async def _ended(chat: Chat, run_id: str) -> bool:
    return (await chat.api.runs.get(ME, run_id)).status == "completed"


async def test_a_refused_message_withdraws_no_question(one_slot: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    ask = {"call": "file_operations", "arguments": {"operation": "create", "path": "a.txt", "content": "x"}}
    async with open_chat(one_slot, [[ask]], settings={"working_directory": str(tmp_path)}) as chat:
        asked = await chat.say("Write a file")
        assert asked.status == "waiting"
        chat.write([held(go)])
        other = await another(chat)
        await other.send("First")
        await other.until_streaming("Let me see")
        waiting = [await other.send(f"Waits {number}") for number in range(3)]
        with pytest.raises(PilothouseError, match="was not taken"):
            await chat.api.runs.post_message(ME, chat.id, NewMessage(text="Never mind"))
        assert (await chat.api.runs.get(ME, asked.id)).status == "waiting"
        go.touch()
        for one in waiting:
            await eventually(lambda one=one: _ended(chat, one.run_id), "what waited to be answered")  # type: ignore[misc]
