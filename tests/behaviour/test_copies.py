"""A branch as a conversation of its own: it has everything up to a run, and its model is sent the same bytes."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from pilothouse.store import copying, schema
from pilothouse.types import limits
from pilothouse.types.api import CompactionWish, ConversationPatch, ImageInput, ModelInput, NewConversation
from pilothouse.types.authority import NewGrant, Pattern
from pilothouse.types.branch_views import NewCopy
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host_documents import Where
from pilothouse.types.item_data import CallData, MessageData, NoticeData
from pilothouse.types.items import is_a
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, Part, ToolOutput
from pilothouse.types.tool_names import READ_RESULT
from tests.faults.failing_store import failing_store
from tests.support.chats import ME, Chat, database_of, open_chat
from tests.support.databases import SQLITE_AND_POSTGRESQL, open_transaction
from tests.support.pictures import a_png
from tests.support.scripted_endpoint import Endpoint, Received, Reply
from tests.support.tools import ToolOf, add_tools
from tests.support.wire_writers import Call, Say, Text

LARGE = json.dumps([{"id": number, "note": "n" * 60} for number in range(9_000)])


@pytest.fixture(params=SQLITE_AND_POSTGRESQL)
def database_url(request: pytest.FixtureRequest) -> str | None:
    return request.getfixturevalue("postgres_url") if request.param == "postgresql" else None


def says(text: str) -> Reply:
    return Reply(Say((Text([text]),)))


def calls(call_id: str, tool: str, **arguments: Any) -> Reply:
    return Reply(Say((Call(call_id, tool, json.dumps(arguments)),), stop="tool"))


def looking() -> ToolOf:
    async def given(_arguments: JsonObject, _context: CallContext) -> ToolOutput:
        return ToolOutput(text=LARGE, parts=(Part(kind="text", text=LARGE),))

    return ToolOf("look", given, server="people")


@asynccontextmanager
async def at_an_endpoint(home: Path, url: str | None) -> AsyncIterator[tuple[Chat, Endpoint]]:
    settings = {"working_directory": str(home.parent)}
    async with Endpoint() as endpoint, open_chat(home, settings=settings, database_url=url) as chat:
        add_tools(chat.host, looking())
        fields: dict[str, Any] = {"base_url": endpoint.url, "context_window": 200_000, "supports_images": True}
        await chat.use(ModelInput(name="m", id="m", provider="openai-compatible", model="m", **fields))
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="People"))
        yield chat, endpoint


async def copied(chat: Chat, run_id: str, **wish: Any) -> Chat:
    made = await chat.api.branches.copy(ME, run_id, NewCopy(**wish))
    return Chat(chat.host, made.id, chat.script)


async def run_of(chat: Chat, text: str, **fields: Any) -> str:
    run = await chat.say(text, **fields)
    assert run.status == "completed", run.error
    return run.id


def request_of(endpoint: Endpoint) -> bytes:
    last: Received = endpoint.requests[-1]
    return last.body


async def same_request(chat: Chat, copy: Chat, endpoint: Endpoint, run_id: str) -> bytes:
    """Go on after a run in both, and return what the model was sent in both, which must be the same."""
    endpoint.answer(says("On."), says("On."))
    await run_of(chat, "And now?", after=run_id)
    before = request_of(endpoint)
    await run_of(copy, "And now?")
    after = request_of(endpoint)
    assert after == before
    return after


async def test_the_model_of_a_copy_is_sent_what_it_would_be_sent_on_the_path_itself(
    home: Path, database_url: str | None
) -> None:
    async with at_an_endpoint(home, database_url) as (chat, endpoint):
        picture = ImageInput(media_type="image/png", data=base64.b64encode(a_png(500)).decode(), name="a.png")
        endpoint.answer(calls("call_1", "look"), says("Many people."), says("Other."), says("Third."))
        first = await chat.send("Look", images=(picture,), allow=("people.*",))
        await chat.settled(first.run_id)
        await run_of(chat, "Something else")
        # A branch in the place of the second message, and what follows it there: the path to be copied.
        wanted = await run_of(chat, "Something better", after=first.run_id)
        endpoint.answer(says("Fourth."), says("Fifth."))
        [call] = await chat.items("tool_call")
        await run_of(chat, "Later")
        copy = await copied(chat, wanted)
        body = await same_request(chat, copy, endpoint, wanted)
        assert is_a(call, CallData)
        assert call.data.kept_as.encode() in body
        assert b"image/png" in body
        # What the model read by its number it reads in the copy by the same.
        endpoint.answer(calls("call_2", READ_RESULT, id=call.data.kept_as, path="[4321].id"), says("Read."))
        await run_of(copy, "Read it")
        read = (await copy.items("tool_call"))[-1]
        assert read.text.startswith("4321")
        assert (await copy.texts("user_message"))[:2] == ["Look", "Something better"]


async def test_a_copy_after_a_summary_goes_on_from_the_summary(home: Path, database_url: str | None) -> None:
    async with at_an_endpoint(home, database_url) as (chat, endpoint):
        endpoint.answer(calls("call_1", "look"), says("Many."), says("They looked."), says("Yes."), says("No."))
        await run_of(chat, "Look", allow=("people.*",))
        summed_up = await chat.api.runs.compact(ME, chat.id, CompactionWish(keep="people"))
        await chat.settled(summed_up.run_id)
        wanted = await run_of(chat, "Is that so?")
        await run_of(chat, "Later")
        copy = await copied(chat, wanted)
        body = await same_request(chat, copy, endpoint, wanted)
        assert b"They looked." in body
        assert b"Many." not in body
        endpoint.answer(calls("call_2", "recall_history", pattern="Look"), says("Recalled."))
        await run_of(copy, "What did I say first?")
        assert "Look" in (await copy.items("tool_call"))[-1].text


async def test_a_copy_of_an_edited_first_message_has_nothing_of_what_it_replaced(
    home: Path, database_url: str | None
) -> None:
    async with at_an_endpoint(home, database_url) as (chat, endpoint):
        endpoint.answer(says("Secret answer."), says("Better answer."))
        first = await chat.send("Secret question")
        await chat.settled(first.run_id)
        wanted = await run_of(chat, "Better question", instead_of=first.item_id)
        copy = await copied(chat, wanted, title="On its own")
        snapshot = await copy.snapshot()
        assert snapshot.conversation.title == "On its own"
        assert snapshot.branches == ()
        kept = b"".join([event.json async for event in all_events(copy)])
        assert b"Secret" not in kept
        assert first.run_id.encode() not in kept
        [message] = await copy.items("user_message")
        assert is_a(message, MessageData)
        assert message.data.fork is None
        [check] = (await chat.api.permissions.audit(ME, copy.id)).checks
        assert check.sound


async def all_events(chat: Chat) -> AsyncIterator[Any]:
    last = (await chat.snapshot()).last_seq
    feed = await chat.api.conversations.events(ME, chat.id, 0)
    numbers = []
    async for batch in feed:
        for event in batch:
            if event.seq:
                numbers.append(event.seq)
                yield event
        if numbers and numbers[-1] >= last:
            break
    await feed.aclose()
    assert numbers == list(range(1, last + 1))


async def test_a_copy_says_where_it_came_from_and_is_found(home: Path, database_url: str | None) -> None:
    async with at_an_endpoint(home, database_url) as (chat, endpoint):
        endpoint.answer(says("A walrus."))
        wanted = await run_of(chat, "Which animal?")
        copy = await copied(chat, wanted)
        made = (await copy.snapshot()).conversation
        assert (made.title, made.activity) == ("People (branch)", "completed")
        [notice] = await copy.items("notice")
        assert is_a(notice, NoticeData)
        assert (notice.data.conversation, notice.data.run) == (chat.id, wanted)
        hits = (await chat.api.conversations.search(ME, "walrus", 10)).hits
        assert {hit.conversation_id for hit in hits} == {chat.id, copy.id}
        listed = (await chat.api.conversations.list(ME, 10)).conversations
        assert {one.id for one in listed} == {chat.id, copy.id}
        again = await copied(copy, (await copy.snapshot()).runs[-1].id)
        assert (await again.snapshot()).conversation.title == "People (branch)"
        # What was paid for once is not counted again.
        assert (await chat.api.usage.report(ME, 1)).total.requests == 1


async def test_a_copy_has_the_todos_of_its_place_and_the_documents_under_the_same_ids(
    home: Path, database_url: str | None
) -> None:
    def todo(title: str) -> JsonObject:
        return {"operation": "write", "todoList": [{"id": 1, "title": title, "status": "not-started"}]}

    async with at_an_endpoint(home, database_url) as (chat, endpoint):
        endpoint.answer(calls("call_1", "todo_operations", **todo("Early")), says("Noted."))
        report = b"The pelican arrived at noon.\n" * 3_000
        uploaded = await chat.api.documents.upload(ME, chunks(report), "report.txt", Where(seen_by=chat.id))
        document = uploaded.document
        wanted = await run_of(chat, "Plan it", documents=(document.id,))
        endpoint.answer(calls("call_2", "todo_operations", **todo("Late")), says("Noted."))
        await run_of(chat, "Plan anew")
        copy = await copied(chat, wanted)
        assert [each.title for each in (await copy.snapshot()).todos.todos] == ["Early"]
        body = await same_request(chat, copy, endpoint, wanted)
        assert document.short_id.encode() in body
        [own] = (await chat.api.documents.list(ME, Where(scope="conversation", scope_id=copy.id))).documents
        assert (own.short_id, own.id == document.id) == (document.short_id, False)
        [message, *_] = await copy.items("user_message")
        assert is_a(message, MessageData)
        assert [each.id for each in message.data.documents] == [own.id]
        read = {"operation": "read_document", "documentId": document.short_id}
        endpoint.answer(calls("call_3", "document_operations", **read), says("Read."))
        await run_of(copy, "Read it")
        assert "pelican" in (await copy.items("tool_call"))[-1].text
        # By the short id alone nobody can say which is to go.
        with pytest.raises(PilothouseError) as caught:
            await chat.api.documents.delete(ME, document.short_id)
        assert caught.value.code == "conflict"
        await chat.api.documents.delete(ME, document.id)
        assert (await chat.api.documents.get(ME, document.short_id)).id == own.id


async def chunks(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def test_a_copy_is_not_allowed_what_was_allowed_before(home: Path, database_url: str | None) -> None:
    async with at_an_endpoint(home, database_url) as (chat, endpoint):
        now = (await chat.snapshot()).conversation.settings
        everything = msgspec.structs.replace(now, mode="auto_approve")
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(settings=everything))
        endpoint.answer(calls("call_1", "look"), says("Many."))
        wanted = await run_of(chat, "Look")
        pattern = Pattern(tool="people.*")
        await chat.api.permissions.give_grant(ME, NewGrant(conversation_id=chat.id, pattern=pattern, duration="1h"))
        copy = await copied(chat, wanted)
        assert (await copy.snapshot()).conversation.settings.mode == "ask"
        assert not (await chat.api.permissions.grants(ME, copy.id)).grants
        endpoint.answer(calls("call_2", "look"))
        assert (await copy.say("Look again")).status == "waiting"
        await chat.api.runs.cancel(ME, (await copy.snapshot()).runs[-1].id)


async def test_what_is_being_worked_on_is_not_copied_and_nothing_stays_of_it(
    home: Path, database_url: str | None
) -> None:
    held = {"text": "Slowly.", "pieces": 5, "every": 60, "until": str(home.parent / "go")}
    async with open_chat(home, [held], database_url=database_url) as chat:
        sent = await chat.send("Go")
        await chat.until_streaming("S")
        with pytest.raises(PilothouseError) as caught:
            await copied(chat, sent.run_id)
        assert (caught.value.code, caught.value.fix) == ("conflict", "Stop it first, or wait until it has ended.")
        for title in ("", "  "):
            with pytest.raises(PilothouseError):
                await copied(chat, sent.run_id, title=title)
        with pytest.raises(PilothouseError) as caught:
            await copied(chat, "r_none")
        assert caught.value.code == "not_found"
        (home.parent / "go").touch()
        await chat.settled(sent.run_id)
        assert len((await chat.api.conversations.list(ME, 10)).conversations) == 1
        await chat.api.conversations.delete(ME, chat.id)
        with pytest.raises(PilothouseError) as caught:
            await copied(chat, sent.run_id)
        assert caught.value.code == "not_found"


async def test_a_long_conversation_is_copied_while_others_write(
    home: Path, database_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOADED_ROWS", 20)
    async with open_chat(
        home, [{"text": "word " * 400, "pieces": 200, "every": 0.0}] * 5, database_url=database_url
    ) as chat:
        for number in range(4):
            await chat.say(f"Say {number}")
        last = (await chat.snapshot()).runs[-1]
        copying = asyncio.create_task(copied(chat, last.id))
        other = await chat.api.conversations.create(ME, NewConversation())
        await chat.api.conversations.update(ME, other.id, ConversationPatch(title="Meanwhile"))
        copy = await copying
        mine, theirs = await chat.snapshot(), await copy.snapshot()
        assert [item.text for item in theirs.items][:-1] == [item.text for item in mine.items]
        assert [item.position for item in theirs.items][:-1] == [item.position for item in mine.items]
        assert not {item.id for item in theirs.items} & {item.id for item in mine.items}
        [check] = (await chat.api.permissions.audit(ME, copy.id)).checks
        assert check.sound


def left_of_copies(url: str) -> list[str]:
    """Return the tables that hold something of a conversation that is not there."""
    with open_transaction(url) as connection:
        there = set(connection.execute(sa.select(schema.conversations.c.id)).scalars())
        found = []
        for table in schema.PARTS_OF_CONVERSATIONS:
            of = set(connection.execute(sa.select(table.c.conversation_id)).scalars())
            found += [table.name] if of - there else []
        scopes = set(connection.execute(sa.select(schema.documents.c.scope)).scalars())
        return [*found, *(["documents"] if scopes - there - {""} else [])]


async def test_a_copy_that_fails_anywhere_leaves_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with failing_store(monkeypatch) as failures:
        async with open_chat(home, ["One.", "Two."]) as chat:
            document = (
                await chat.api.documents.upload(ME, chunks(b"Tides."), "a.txt", Where(seen_by=chat.id))
            ).document
            await chat.say("A", documents=(document.id,))
            wanted = await run_of(chat, "B")
            at = 0
            while True:
                at += 1
                failures.arm(at)
                try:
                    await copied(chat, wanted)
                except PilothouseError:
                    failures.disarm()
                    assert left_of_copies(database_of(home)) == [], f"after the failure of operation {at}"
                    continue
                if not failures.failed:
                    break
                failures.disarm()
            failures.disarm()
            assert at > 10


async def test_what_a_process_that_died_left_of_a_copy_is_removed_after_a_day(
    home: Path, database_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def died(*_: object, **__: object) -> None:
        raise PilothouseError("internal", "It died.")

    async with open_chat(home, ["One.", "Two."], database_url=database_url) as chat:
        wanted = await run_of(chat, "A")
        url = database_url or database_of(home)
        with monkeypatch.context() as patching:
            patching.setattr(copying, "_show", died)
            patching.setattr(copying, "_remove", lambda *_, **__: None)
            with pytest.raises(PilothouseError):
                await copied(chat, wanted)
        assert {"events", "items", "runs"} <= set(left_of_copies(url))
        await chat.host.api._records.tidy()
        assert left_of_copies(url), "a copy of today may be at work"
        monkeypatch.setattr(limits, "COPY_DAYS", -1.0)
        await chat.host.api._records.tidy()
        assert left_of_copies(url) == []
        assert len((await chat.api.conversations.list(ME, 10)).conversations) == 1
