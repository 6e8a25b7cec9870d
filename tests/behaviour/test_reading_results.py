"""What a model did not get of a result it can read: by an id that means nothing elsewhere, and with its taint."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.api import ModelInput, NewConversation
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.item_data import CallData
from pilothouse.types.items import Call, Item, is_a
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, Part, ToolOutput, ToolRequest
from pilothouse.types.selection import Selection
from pilothouse.types.tool_names import READ_RESULT
from pilothouse.wiring import open_host
from tests.support.chats import ME, Chat, open_chat
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.tools import ToolOf, add_tools
from tests.support.wire_writers import Call as Called
from tests.support.wire_writers import Say, Text

ROWS = [{"id": number, "name": f"Person {number}", "note": "n" * 60} for number in range(9_000)]
LARGE = json.dumps(ROWS)
CALL: list[Any] = [[{"call": "look", "arguments": {}}], "I see."]


class Private(ToolOf):
    """A tool of a server whose results are the person's own data."""

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        return Access(operation="people.look", brings=frozenset({"private", "untrusted"}), source="server:people")


def of(text: str) -> ToolOf:
    async def given(_arguments: JsonObject, _context: CallContext) -> ToolOutput:
        return ToolOutput(text=text, parts=(Part(kind="text", text=text),))

    return Private("look", given, server="people")


def settings(home: Path) -> dict[str, Any]:
    return {"mode": "auto_approve", "working_directory": str(home.parent)}


@asynccontextmanager
async def looked(home: Path, text: str = LARGE) -> AsyncIterator[tuple[Chat, Call]]:
    """Open a chat whose model has called a server's tool that gave this, and give the call."""
    async with open_chat(home, CALL, settings=settings(home)) as chat:
        add_tools(chat.host, of(text))
        assert (await chat.say(allow=("people.*",))).status == "completed"
        [call] = await chat.items("tool_call")
        assert is_a(call, CallData)
        yield chat, call


async def read(chat: Chat, **arguments: Any) -> Item:
    """Have the model read a result, and return that call."""
    answers = len(await chat.items("response"))
    chat.write([*["-"] * answers, [{"call": READ_RESULT, "arguments": arguments}], "Read."])
    assert (await chat.say("Read it")).status == "completed"
    return (await chat.items("tool_call"))[-1]


@pytest.mark.case("UTL-13", "RES-16")
async def test_a_large_result_enters_with_its_id_and_what_it_is_and_any_part_of_it_is_read(home: Path) -> None:
    async with looked(home) as (chat, call):
        assert len(call.text) < limits.RESULT_EXCERPT_CHARS + 400
        first = call.text.splitlines()[0]
        assert call.data.kept_as == f"r{call.position}"
        assert first == (
            f"[Result r{call.position}: {len(LARGE):,} characters, 1 line, JSON: a list of 9,000 objects with id, name,"
            " note. Not all of it is here; read_tool_result reads any part.]"
        )
        assert '"Person 0"' in call.text
        assert call.text.endswith(LARGE[-100:])
        found = await read(chat, id=call.data.kept_as, path="[4321].name")
        assert found.text == "Person 4321\n[Characters 0 to 11 of 11.]"
        rows = await read(chat, id=call.data.kept_as, columns=["name"], start_row=8_998)
        assert rows.text.startswith('["name"]\n8998: ["Person 8998"]\n8999: ["Person 8999"]\n')
        hit = await read(chat, id=call.data.kept_as, pattern='"Person 777"')
        offset = int(re.findall(r"1 at (\d+)", hit.text)[0])
        page = await read(chat, id=call.data.kept_as, offset=offset)
        assert page.text.startswith('"Person 777"')
        assert len(page.text) <= limits.RESULT_PAGE_CHARS + limits.RESULT_PAGE_NOTE


@pytest.mark.case("UTL-13")
async def test_of_a_result_too_large_to_keep_the_model_is_told_at_once_that_not_all_can_be_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RESULT_KEPT", 100_000)
    async with looked(home) as (chat, call):
        gap = "ts middle was too large to keep: the gap is line 2, at offset 66,666,"
        gap += " and line numbers after it are not the original's."
        assert f"; i{gap} " in call.text.splitlines()[0]
        beyond = await read(chat, id=call.data.kept_as, offset=len(LARGE) - 10)
        assert beyond.status == "failed"
        assert beyond.text.startswith("There are only 100,0")
        assert beyond.text.endswith(f" [I{gap}]")
        found = await read(chat, id=call.data.kept_as, offset=10)
        assert found.text.endswith(f"\n[I{gap}]")
        line = await read(chat, id=call.data.kept_as, start_line=2, end_line=2)
        missing = len(LARGE) - 99_999
        assert line.text.startswith(f"[… {missing:,} characters left out …]\n")
        there = await read(chat, id=call.data.kept_as, offset=66_666)
        assert there.text.startswith(f"\n[… {missing:,} characters left out …]\n{LARGE[-33_333:][:100]}")


async def test_a_small_result_enters_whole_and_is_not_spoken_about(home: Path) -> None:
    text = "x" * (limits.SUMMARISED_TOKENS * limits.CHARS_PER_TOKEN)
    async with looked(home, text) as (chat, call):
        assert (call.text, call.data.kept_as) == (text, "")
        assert (await read(chat, id=f"r{call.position}", offset=19_990)).text.startswith(
            "x" * 10 + "\n[Characters 19,990"
        )


@pytest.mark.case("UTL-13")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"id": "r99999"}, "There is no result “r99999” in this conversation."),
        ({"id": "everything"}, "There is no result “everything” in this conversation."),
        ({"id": "r1"}, "There is no result “r1” in this conversation."),
        ({"path": ".items"}, "There is no “.items” at the top, which is a list of 9,000 objects with id, name, note."),
        ({"pattern": "(("}, "The regular expression cannot be used"),
        ({"offset": -1}, "`offset` must be a number from 0 to 999,999,999."),
        ({"offset": 10**9}, "`offset` must be a number from 0 to 999,999,999."),
        ({"part": 7}, "That result has no text as part 7; it has 0."),
        ({"columns": ["nobody"]}, "There is no column “nobody”; there are id, name, note."),
    ],
)
async def test_what_cannot_be_read_is_said_in_one_sentence(home: Path, arguments: JsonObject, said: str) -> None:
    async with looked(home) as (chat, call):
        found = await read(chat, **{"id": call.data.kept_as} | arguments)
        assert found.status == "failed"
        assert found.text.startswith(said)
        assert "\n" not in found.text


@pytest.mark.case("UTL-13")
async def test_an_id_means_nothing_in_another_conversation(home: Path) -> None:
    async with looked(home) as (chat, call):
        chosen = ConversationSettings(model_id=f"scripted:{chat.script}", **settings(home))
        other = await chat.api.conversations.create(ME, NewConversation(settings=chosen))
        elsewhere = Chat(chat.host, other.id, chat.script)
        chat.write(["Hello."])
        await elsewhere.say("Hello")
        for asked in (call.data.kept_as, call.id, chat.id):
            found = await read(elsewhere, id=asked)
            assert found.text == f"There is no result “{asked[:40]}” in this conversation."


@pytest.mark.case("UTL-13")
async def test_what_is_read_carries_what_the_result_brought(home: Path) -> None:
    async with looked(home) as (chat, call):
        found = await read(chat, id=call.data.kept_as, offset=500)
        assert found.raw["brings"] == call.raw["brings"]
        assert found.raw["brings"] == {"private": True, "untrusted": True, "source": "server:people"}


@pytest.mark.case("UTL-13", "RES-01")
async def test_secrets_stay_masked_also_those_that_were_learned_later(home: Path) -> None:
    text = "first " * 10_000 + "sk-a-secret-of-the-person " + "last " * 10_000
    async with looked(home, text) as (chat, call):
        chat.host.redactor.learn("sk-a-secret-of-the-person")
        found = await read(chat, id=call.data.kept_as, pattern="sk-a|secret")
        assert "of-the-person" not in found.text
        again = await read(chat, id=call.data.kept_as, offset=59_990)
        assert "sk-a-secret" not in again.text
        assert "last last" in again.text


@pytest.mark.case("UTL-13")
async def test_a_result_is_read_after_a_restart_and_so_is_one_of_an_earlier_version(home: Path) -> None:
    async with looked(home) as (chat, call):
        conversation, script, kept = chat.id, chat.script, call.data.kept_as
    async with open_host(home) as host:
        chat = Chat(host, conversation, script)
        add_tools(host, of("more"))
        found = await read(chat, id=kept, path="[10].id")
        assert found.text.startswith("10\n")


async def test_a_model_is_told_which_results_were_cut_before_it_could_read_them(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home, CALL, settings=settings(home)) as chat:
        add_tools(chat.host, of(LARGE))
        # As before there was anything to read with: no id in its text, and nothing of it in its data.
        run = await chat.say(allow=("people.*",), selection=Selection(built_in=("think",)))
        assert run.status == "completed"
        [call] = await chat.items("tool_call")
        assert "Result r" not in call.text
        assert len(call.text) > 8_000
        fields: JsonObject = {"base_url": endpoint.url, "context_window": 100_000}
        await chat.use(ModelInput(name="m", id="m", provider="openai-compatible", model="m", **fields))
        arguments = json.dumps({"id": f"r{call.position}", "path": "[5].name"})
        endpoint.answer(
            Reply(Say((Called("call_a", READ_RESULT, arguments),), stop="tool")), Reply(Say((Text(["Ok."]),)))
        )
        assert (await chat.say("Read it")).status == "completed"
        sent = [request.body.decode() for request in endpoint.requests]
        assert f"[Result r{call.position}: {len(LARGE):,} bytes." in sent[0]
        assert "Person 5" in (await chat.items("tool_call"))[-1].text


@pytest.mark.case("RES-16")
async def test_of_more_pieces_than_are_kept_one_by_one_every_word_can_be_read(home: Path) -> None:
    words = [Part(kind="text", text=f"piece {number} " + "w" * 400) for number in range(300)]

    async def given(_arguments: JsonObject, _context: CallContext) -> ToolOutput:
        return ToolOutput(text="\n\n".join(part.text for part in words), parts=tuple(words))

    async with open_chat(home, CALL, settings=settings(home)) as chat:
        add_tools(chat.host, ToolOf("look", given, server="people"))
        await chat.say(allow=("people.*",))
        [call] = await chat.items("tool_call")
        assert not call.raw.get("cut")
        assert "the longest of 64 texts" in call.text
        assert "piece 299 " in (await read(chat, id=call.raw["keptAs"], part=63, pattern="piece 299")).text
        assert (await read(chat, id=call.raw["keptAs"], part=5)).text.startswith("piece 5 ")


async def test_it_is_offered_where_a_result_can_be_large_and_nowhere_else(home: Path) -> None:
    async with open_host(home) as host:

        async def offers(**wanted: Any) -> bool:
            request = ToolRequest("c", context_window=100_000, **wanted)
            return READ_RESULT in [tool.spec.name for tool in (await host.executor._parts.toolbox.tools(request)).tools]

        assert not await offers()
        assert not await offers(used=("think", "todo_operations"))
        assert await offers(used=("people__look",))
        assert await offers(working_directory=str(home.parent))
        assert not await offers(working_directory=str(home.parent), selection=Selection(built_in=("think",)))
