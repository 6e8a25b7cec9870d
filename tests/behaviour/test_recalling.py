"""What a summary of older turns replaced is found and read again, in pages; before there is one, nothing offers it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.tools.recall_history import RecallHistory
from pilothouse.types import limits
from pilothouse.types.api import ConversationPatch, ModelInput, NewConversation
from pilothouse.types.items import Item
from pilothouse.types.meaning import Near, WordsOnly
from pilothouse.types.ports import CallContext
from pilothouse.types.scopes import Scope
from pilothouse.types.tool_names import RECALL
from tests.support.chats import ME, Chat, open_chat
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.tools import Silent
from tests.support.wire_writers import Call, Say, Text
from tests.support.word_groups import WordGroups

WINDOW = 16_000
CODE = "The code word is ZANZIBAR, said in the harbour at noon."
FIRST = f"{'Many words about ships. ' * 900}{CODE} {'And more words. ' * 400}"
SUMMARY = "They spoke about ships at length."


def says(text: str) -> Reply:
    return Reply(Say((Text([text]),)))


def recalls(number: int, **arguments: Any) -> Reply:
    return Reply(Say((Call(f"call_{number}", RECALL, json.dumps(arguments)),), stop="tool"))


@asynccontextmanager
async def summed_up(home: Path) -> AsyncIterator[tuple[Chat, Endpoint]]:
    """Open a chat of which the first two answers are behind a summary."""
    async with Endpoint() as endpoint, open_chat(home) as chat:
        fields: dict[str, Any] = {"base_url": endpoint.url, "context_window": WINDOW}
        await chat.use(ModelInput(name="m", id="m", provider="openai-compatible", model="m", **fields))
        # Without a title the model would be asked for one in between.
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Ships"))
        endpoint.answer(says(FIRST), says("x " * 15_000), says(SUMMARY), says("Here I am."))
        for text in ("Tell me about ships", "Go on", "Are you there?"):
            assert (await chat.say(text)).status == "completed"
        assert [item.text for item in await chat.items("compaction")] == [SUMMARY]
        yield chat, endpoint


async def recall(chat: Chat, endpoint: Endpoint, **arguments: Any) -> Item:
    """Have the model look back, and return that call."""
    endpoint.answer(recalls(len(await chat.items()), **arguments), says("Ah."))
    assert (await chat.say("And?")).status == "completed"
    return (await chat.items("tool_call"))[-1]


@pytest.mark.case("UTL-14")
async def test_it_is_offered_once_a_conversation_was_summed_up_and_says_so(home: Path) -> None:
    async with summed_up(home) as (_chat, endpoint):
        sent = [request.body.decode() for request in endpoint.requests]
        offered = [RECALL in {tool["function"]["name"] for tool in json.loads(body).get("tools", [])} for body in sent]
        # The third is for the summary itself, which needs no tools.
        assert offered == [False, False, False, True]
        assert "recall_history finds and reads what this summary replaced" in sent[3]
        assert CODE not in sent[3]


@pytest.mark.case("UTL-14")
async def test_what_was_replaced_is_found_by_its_words_and_read_whole(home: Path) -> None:
    async with summed_up(home) as (chat, endpoint):
        found = await recall(chat, endpoint, pattern="code word is [A-Z]+")
        assert "The code word is ZANZIBAR" in found.text
        assert found.text.endswith("[1 entry. That is all before the summary.]")
        number = int(found.text.split()[0])
        read, offset = "", 0
        while True:
            page = await recall(chat, endpoint, item=number, offset=offset)
            body, _, about = page.text.rpartition("\n")
            assert len(page.text) <= limits.RESULT_PAGE_CHARS + limits.RESULT_PAGE_NOTE
            read += body
            on = re.search(r"offset (\d+)\.", about)
            if on is None:
                break
            offset = int(on[1])
        assert read == f"Assistant: {FIRST}"


@pytest.mark.case("UTL-14")
async def test_everything_comes_in_order_and_nothing_that_is_still_there(home: Path) -> None:
    async with summed_up(home) as (chat, endpoint):
        found = await recall(chat, endpoint)
        lines = found.text.splitlines()
        assert [line.split(maxsplit=1)[1].split(":")[0] for line in lines[:-1]] == [
            "Person",
            "Assistant",
            "Person",
            "Assistant",
        ]
        assert lines[0].endswith("Person: Tell me about ships")
        assert "Are you there?" not in found.text
        second = int(lines[2].split()[0])
        assert (await recall(chat, endpoint, start=second)).text.splitlines()[0].endswith("Person: Go on")
        assert found.raw["brings"] == {"private": False, "untrusted": True, "source": ""}


@pytest.mark.case("UTL-14")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"pattern": "(("}, "The regular expression cannot be used"),
        ({"item": 99_999}, "There is no entry 99999 before the summary."),
        ({"item": "many"}, "`item` must be a"),
    ],
)
async def test_what_cannot_be_recalled_is_said_in_one_sentence(home: Path, arguments: Any, said: str) -> None:
    async with summed_up(home) as (chat, endpoint):
        found = await recall(chat, endpoint, **arguments)
        assert found.status == "failed"
        assert "\n" not in found.text
        if isinstance(arguments.get("item"), str):
            return
        assert found.text.startswith(said)


async def test_where_nothing_was_replaced_there_is_nothing_to_recall(home: Path) -> None:
    async with open_chat(home, [[{"call": RECALL, "arguments": {}}], "Oh."]) as chat:
        assert (await chat.say()).status == "completed"
        [call] = await chat.items("tool_call")
        assert call.text == "Nothing of this conversation was replaced by a summary: all of it is here."


@pytest.mark.case("UTL-14")
async def test_what_was_replaced_is_found_by_what_it_is_about_in_this_conversation_alone(home: Path) -> None:
    async with summed_up(home) as (chat, _endpoint):
        items = await chat.items()
        asked, here = (next(item for item in items if item.text == text) for text in ("Tell me about ships", "Go on"))
        there = next(item for item in items if item.text == "Are you there?")
        elsewhere = await chat.api.conversations.create(ME, NewConversation())
        meaning = WordGroups()
        # What is after the summary is not looked for, nor what is hardly alike, nor what is in another conversation.
        meaning.nearby = (Near(there.id, 0.9), Near(here.id, 0.8), Near("i_elsewhere", 0.8), Near(asked.id, 0.1))
        records = chat.host.executor._parts.records
        context = CallContext(chat.id, "r", "i", None, (), False, owner=ME)
        without = await RecallHistory(records, WordsOnly()).execute({"about": "zanzibar harbour"}, context, Silent())
        assert "Assistant: Many words about ships." in without.text
        assert without.text.endswith("[1 entry. Found by words: no embedding model is there.]")
        tool = RecallHistory(records, meaning)
        found = await tool.execute({"about": "zanzibar harbour"}, context, Silent())
        lines = found.text.splitlines()
        assert "Assistant: Many words about ships." in lines[0]
        assert lines[1].endswith("Person: Go on")
        assert lines[2:] == ["[2 entries. First what has the words, then what means about the same.]"]
        assert meaning.asked_near == [("zanzibar harbour", "message", ME, (Scope(kind="conversation", id=chat.id),))]
        away = msgspec.structs.replace(context, conversation_id=elsewhere.id)
        other = await tool.execute({"about": "zanzibar"}, away, Silent())
        assert other.error is not None
        assert other.error.code == "ALL_HERE"
