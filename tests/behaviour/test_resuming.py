"""Whatever ended before its answer did can go on, also after the conversation did; what cannot is told why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pilothouse.agent.history import history
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCreated
from pilothouse.types.messages import Message
from pilothouse.types.runs import Run
from tests.support.chats import ME, Chat, open_chat
from tests.support.records import an_item

SLOW = [{"text": "one two three four five", "pieces": 20, "every": 0.05}]


async def asked(chat: Chat) -> tuple[Message, ...]:
    """Return what a model that is asked now is told."""
    return history(await chat.items())


async def standing(chat: Chat) -> list[str]:
    """Return the answers that count, in order."""
    return [item.text for item in await chat.items("response") if not item.raw.get("cutOff")]


async def resumed(chat: Chat, run_id: str, *turns: Any) -> Run:
    """Have a run go on, and wait for its end; its model has these turns."""
    chat.write(turns)
    assert (await chat.api.runs.resume(ME, run_id)).status == "queued"
    return await chat.settled(run_id)


async def stopped(chat: Chat, text: str) -> str:
    """Send a message and stop its answer in the middle; return the run's id."""
    chat.write([SLOW])
    sent = await chat.send(text)
    await chat.until_streaming("two")
    await chat.api.runs.cancel(ME, sent.run_id)
    assert (await chat.settled(sent.run_id)).status == "cancelled"
    return sent.run_id


async def test_a_failed_run_goes_on_after_the_conversation_did_and_the_model_is_told_what_to_answer(home: Path) -> None:
    async with open_chat(home, [[{"fault": 401}]]) as chat:
        failed = await chat.say("What is a barge?")
        chat.write(["A tug is a ship."])
        assert (await chat.say("What is a tug?")).status == "completed"
        before = await asked(chat)
        assert (await resumed(chat, failed.id, "A barge is a boat.")).status == "completed"
        assert await standing(chat) == ["A tug is a ship.", "A barge is a boat."]
        (told,) = await chat.texts("reminder")
        assert "What is a barge?" in told
        assert (await asked(chat))[: len(before)] == before


async def test_a_stopped_run_goes_on_later_and_what_others_have_read_of_it_stays(home: Path) -> None:
    async with open_chat(home) as chat:
        first = await stopped(chat, "Count.")
        chat.write(["Another thing."])
        assert (await chat.say("Something else")).status == "completed"
        before = await asked(chat)
        (half, other) = await standing(chat)
        assert (await resumed(chat, first, "one two three")).status == "completed"
        assert await standing(chat) == [half, other, "one two three"]
        assert (await asked(chat))[: len(before)] == before


async def test_what_goes_on_late_and_is_stopped_again_takes_back_only_what_nobody_has_read(home: Path) -> None:
    async with open_chat(home) as chat:
        first = await stopped(chat, "Count.")
        chat.write(["Another thing."])
        await chat.say("Something else")
        (half, other) = await standing(chat)
        chat.write([SLOW])
        await chat.api.runs.resume(ME, first)
        await chat.until_streaming("two")
        await chat.api.runs.cancel(ME, first)
        assert (await chat.settled(first)).status == "cancelled"
        assert (await resumed(chat, first, "one two three")).status == "completed"
        assert await standing(chat) == [half, other, "one two three"]
        assert len(await chat.texts("reminder")) == 1


async def test_of_two_failed_runs_the_one_that_goes_on_is_told_which_it_is(home: Path) -> None:
    async with open_chat(home, [[{"text": "It is"}, {"fault": 401}]]) as chat:
        first, second = await chat.say("What is a barge?"), await chat.say("What is a tug?")
        assert (first.status, second.status) == ("failed", "failed")
        assert (await resumed(chat, first.id, "A barge is a boat.")).status == "completed"
        (told,) = await chat.texts("reminder")
        assert "What is a barge?" in told
        assert "What is a tug?" not in told
        assert (await resumed(chat, second.id, "A tug is a ship.")).status == "completed"
        assert await standing(chat) == ["A barge is a boat.", "A tug is a ship."]


async def test_a_message_that_was_summed_up_since_is_to_be_sent_again(home: Path) -> None:
    async with open_chat(home, [[{"fault": 401}]]) as chat:
        failed = await chat.say("What is a barge?")
        chat.write(["A tug is a ship."])
        assert (await chat.say("What is a tug?")).status == "completed"
        (kept,) = [item for item in await chat.items("user_message") if item.text == "What is a tug?"]
        records: Any = chat.api._records
        summary = an_item(chat.id, "compaction", "completed", "They talked.", data={"keepFrom": kept.position})
        await records.append(chat.id, [ItemCreated(item=summary)], None)
        with pytest.raises(PilothouseError) as refused:
            await chat.api.runs.resume(ME, failed.id)
        assert (refused.value.code, refused.value.message, refused.value.fix) == (
            "conflict",
            "Older messages were summed up since then, and this one with them.",
            "Send the message again to have it answered.",
        )
