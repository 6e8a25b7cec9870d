"""Older turns are summed up when the person asks for it: in turn, as a run like any other, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.agent.history import history
from pilothouse.types import limits
from pilothouse.types.api import Answer, CompactionWish, ConversationPatch, MessageAccepted, ModelInput
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from pilothouse.types.runs import Run, RunOptions
from tests.support.chats import ME, Chat, open_chat
from tests.support.invariants import check_messages
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.waiting import eventually
from tests.support.wire_writers import Say, Text

SUMMARY = "They agreed on port 8123."
# Only what is to be summed up begins like this.
SUMMED_UP = {"match": "Person: ", "steps": [SUMMARY]}


def says(text: str) -> Reply:
    return Reply(Say((Text([text]),)))


async def wish(chat: Chat, keep: str = "") -> MessageAccepted:
    return await chat.api.runs.compact(ME, chat.id, CompactionWish(keep=keep))


async def compact(chat: Chat, keep: str = "") -> Run:
    return await chat.settled((await wish(chat, keep)).run_id)


async def told(chat: Chat) -> str:
    """Return what a model would read of the conversation now."""
    messages = history(await chat.items())
    check_messages(messages)
    return repr(messages)


async def the_summary(chat: Chat) -> Item:
    [summary] = [item for item in await chat.items("compaction") if item.status == "completed"]
    return summary


async def refused(chat: Chat, keep: str = "") -> PilothouseError:
    with pytest.raises(PilothouseError) as caught:
        await wish(chat, keep)
    return caught.value


@asynccontextmanager
async def at_an_endpoint(home: Path, window: int = 32_000) -> AsyncIterator[tuple[Chat, Endpoint]]:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        fields: dict[str, Any] = {"base_url": endpoint.url, "context_window": window}
        await chat.use(ModelInput(name="m", id="m", provider="openai-compatible", model="m", **fields))
        # Without a title the model would be asked for one in between.
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Ports"))
        yield chat, endpoint


@pytest.mark.case("CHT-01")
async def test_a_summary_that_was_asked_for_stands_for_everything_before_it_and_the_original_stays(home: Path) -> None:
    async with at_an_endpoint(home) as (chat, endpoint):
        endpoint.answer(says("Port 8123, then."), says(SUMMARY), says("8123."))
        await chat.say("Which port shall we take?")
        assert (await compact(chat, "the port numbers")).status == "completed"
        assert "the port numbers" in endpoint.requests[1].body.decode()
        summary = await the_summary(chat)
        assert (summary.text, summary.raw["by"], summary.raw["keep"]) == (SUMMARY, "model", "the port numbers")
        assert (summary.raw["messages"], summary.raw["calls"]) == (2, 0)
        assert await chat.texts("user_message", "response") == [
            "Which port shall we take?",
            "Port 8123, then.",
            "/compact the port numbers",
        ]
        await chat.say("Which was it?")
        last = endpoint.requests[-1].body.decode()
        assert SUMMARY in last
        assert "Port 8123, then." not in last
        # What the person wrote is noted word by word, whatever the model made of it.
        assert "> Which port shall we take?" in json.loads(last)["messages"][-1]["content"][0]["text"]


async def test_a_summary_waits_for_the_answer_before_it_and_the_message_behind_it_is_answered_from_it(
    home: Path,
) -> None:
    go = home.parent / "go"
    held = {"match": "One", "steps": [{"text": "First answer.", "pieces": 5, "every": 60, "until": str(go)}]}
    async with open_chat(home, [SUMMED_UP, {"match": "Two", "steps": ["Later answer."]}, held]) as chat:
        first = await chat.send("One")
        await chat.until_streaming("First")
        asked = await wish(chat)
        second = await chat.send("Two")
        assert [run.status for run in (await chat.snapshot()).runs] == ["running", "queued", "queued"]
        go.touch()
        for run_id in (first.run_id, asked.run_id, second.run_id):
            assert (await chat.settled(run_id)).status == "completed"
        spoken = [(item.kind, item.text) for item in await chat.items("response", "compaction")]
        assert spoken == [("response", "First answer."), ("compaction", SUMMARY), ("response", "Later answer.")]
        # The message that waited stands behind the summary.
        assert "Two" in await told(chat)


async def test_two_at_once_are_one(home: Path) -> None:
    async with open_chat(home, [SUMMED_UP, "Answer."]) as chat:
        await chat.say("One")
        both = await asyncio.gather(wish(chat), wish(chat), return_exceptions=True)
        taken = [each for each in both if isinstance(each, MessageAccepted)]
        for each in taken:
            assert (await chat.settled(each.run_id)).status == "completed"
        assert {str(each) for each in both if isinstance(each, Exception)} <= {
            "This conversation is being summed up already."
        }
        await the_summary(chat)


async def test_a_second_one_is_refused_while_the_first_is_written(home: Path) -> None:
    go = home.parent / "go"
    held = {"match": "Person: ", "steps": [{"wait": 60, "until": str(go)}, SUMMARY]}
    async with open_chat(home, [held, "Answer."]) as chat:
        await chat.say("One")
        first = await wish(chat)
        assert (await refused(chat)).message == "This conversation is being summed up already."
        go.touch()
        assert (await chat.settled(first.run_id)).status == "completed"
        assert (await refused(chat)).message == "There is nothing to sum up yet."


async def test_what_cannot_be_summed_up_is_refused_in_one_sentence(home: Path) -> None:
    async with open_chat(home) as chat:
        error = await refused(chat)
        assert (error.code, error.message) == ("conflict", "There is nothing to sum up yet.")
        error = await refused(chat, "x" * (limits.KEEP_CHARS + 1))
        assert (error.code, error.message) == (
            "too_large",
            "What the summary is to keep has 2,001 characters; at most 2,000 can be said.",
        )
        assert (await refused(chat, "so \ud83d")).message == "The text has half of a character in it."
        with pytest.raises(PilothouseError) as caught:
            await chat.api.runs.compact(ME, "c_none", CompactionWish())
        assert caught.value.code == "not_found"
        assert await chat.items() == []


async def test_while_a_question_waits_nothing_is_summed_up_and_the_question_stays(home: Path) -> None:
    ask = {"call": "user_collaboration", "arguments": {"prompt": "Blue or green?"}}
    async with open_chat(home, [SUMMED_UP, [ask], "Green it is."]) as chat:
        run = await chat.say("Paint it")
        assert run.status == "waiting"
        error = await refused(chat)
        assert (error.code, str(error)) == (
            "conflict",
            "A question waits for you, so nothing can be summed up now. Answer it or stop it first.",
        )
        [question] = await chat.items("question")
        assert question.status == "waiting"
        await chat.api.questions.answer(ME, question.id, Answer(text="green"))
        assert (await chat.settled(run.id)).status == "completed"
        assert (await compact(chat)).status == "completed"
        # What was asked and what they said is noted.
        assert "- Blue or green? Answer: green" in (await the_summary(chat)).raw["noted"]


async def test_a_summary_that_is_stopped_leaves_the_conversation_as_it_was(home: Path) -> None:
    held = {"match": "Person: ", "steps": [{"wait": 60, "until": "/nowhere"}, SUMMARY]}
    async with open_chat(home, [held, "Answer."]) as chat:
        await chat.say("One")
        before = await told(chat)
        asked = await wish(chat)

        await eventually(lambda: chat.items("compaction"), "the summary to begin")
        await chat.api.runs.cancel(ME, asked.run_id)
        assert (await chat.settled(asked.run_id)).status == "cancelled"
        assert [item.status for item in await chat.items("compaction")] == ["cancelled"]
        assert await told(chat) == before
        assert (await chat.say("Two")).status == "completed"


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([{"fault": 401}], "401"),
        (["They ag", {"fault": "refusal"}], "The model declined to sum this up."),
        (["   "], "The model wrote no summary."),
        (["so and so " * 5_000], "The model only repeated itself."),
    ],
)
async def test_a_model_that_fails_leaves_the_conversation_as_it_was_and_can_be_asked_again(
    home: Path, steps: list[Any], said: str
) -> None:
    async with open_chat(home, [{"match": "Person: ", "steps": steps}, "Answer."]) as chat:
        await chat.say("One")
        before = await told(chat)
        failed = await compact(chat)
        assert failed.status == "failed"
        assert failed.error is not None
        assert said in failed.error.message
        assert "\n" not in failed.error.message
        assert await told(chat) == before
        chat.write([SUMMED_UP, "Answer."])
        await chat.api.runs.resume(ME, failed.id)
        assert (await chat.settled(failed.id)).status == "completed"
        assert (await the_summary(chat)).text == SUMMARY


async def test_a_summary_that_never_ends_is_cut(home: Path) -> None:
    async with open_chat(home, [{"match": "Person: ", "steps": [" ".join(map(str, range(9_000)))]}, "Answer."]) as chat:
        await chat.say("One")
        assert (await compact(chat)).status == "completed"
        text, _, note = (await the_summary(chat)).text.rpartition("\n\n")
        assert len(text) <= limits.COMPACTED_TOKENS * limits.CHARS_PER_TOKEN
        assert note == "[This summary was cut at the limit for its length and is not at its end.]"


async def test_a_summary_that_its_model_s_limit_cut_says_so_to_whoever_reads_it(home: Path) -> None:
    cut = {"match": "Person: ", "steps": ["They agreed on", {"stop": "length"}]}
    async with open_chat(home, [cut, "Answer."]) as chat:
        await chat.say("One")
        assert (await compact(chat)).status == "completed"
        assert (await the_summary(chat)).text.startswith("They agreed on\n\n[This summary was cut at the limit")
        assert "They agreed on\\n\\n[This summary was cut at the limit" in await told(chat)


async def test_an_answer_that_a_summary_stands_for_cannot_go_on(home: Path) -> None:
    async with open_chat(home, [SUMMED_UP, {"match": "Two", "steps": [{"fault": 401}]}, "Answer."]) as chat:
        await chat.say("One")
        failed = await chat.say("Two")
        assert failed.status == "failed"
        assert (await compact(chat)).status == "completed"
        with pytest.raises(PilothouseError, match="Older messages were summed up since then"):
            await chat.api.runs.resume(ME, failed.id)


def test_the_options_of_a_run_are_read_however_an_earlier_version_wrote_them() -> None:
    kept = {"{}": False, '{"compact":null}': False, '{"compact":""}': True, '{"compact":"the ports"}': True}
    for written, is_summary in kept.items():
        assert msgspec.json.decode(written, type=RunOptions).is_summary is is_summary
    assert b"compact" not in msgspec.json.encode(RunOptions())
