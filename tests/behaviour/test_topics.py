"""A topic: conversations in it share their todos, live; whoever is not in it sees nothing of it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.types.api import ConversationPatch, NewConversation, TodosFrame, TopicsFrame
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import ClientApi, ListChange
from pilothouse.types.todos import Todo, TodoInput
from pilothouse.types.topics import Topic, TopicInput, TopicList, TopicPatch
from pilothouse.wiring import OpenHost, open_host
from tests.support.chats import ME, PATIENCE, Chat, open_chat
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.waiting import eventually
from tests.support.wire_writers import Say, Text

CANARY = "Water the rhododendron"


def call(operation: str, **arguments: Any) -> dict[str, Any]:
    return {"call": "todo_operations", "arguments": {"operation": operation, **arguments}}


async def put(api: ClientApi, conversation_id: str, **settings: Any) -> Conversation:
    """Change some of a conversation's settings."""
    now = (await api.conversations.get(ME, conversation_id)).conversation.settings
    changed = ConversationPatch(settings=msgspec.structs.replace(now, **settings))
    return await api.conversations.update(ME, conversation_id, changed)


async def another(chat: Chat, **settings: Any) -> Chat:
    """Begin a second conversation with the same model."""
    now = (await chat.snapshot()).conversation.settings
    body = NewConversation(settings=msgspec.structs.replace(now, **settings))
    return Chat(chat.host, (await chat.api.conversations.create(ME, body)).id, chat.script)


async def titles(chat: Chat) -> list[str]:
    shown = [todo.title for todo in (await chat.snapshot()).todos.todos]
    assert [todo.title for todo in (await chat.api.todos.get(ME, chat.id)).todos] == shown
    return shown


async def a_topic(host: OpenHost, name: str = "Garden") -> Topic:
    return await host.api.topics.create(ME, TopicInput(name=name))


@pytest.mark.case("CHT-15")
async def test_conversations_of_a_topic_share_one_list_of_todos(home: Path) -> None:
    async with open_chat(home, [[call("add", newTodos=[{"title": CANARY}])], "Noted."]) as one:
        garden, kitchen = await a_topic(one.host), await a_topic(one.host, "Kitchen")
        await put(one.api, one.id, topic_id=garden.id)
        two, stranger = await another(one), await another(one, topic_id=kitchen.id)
        alone = await another(one, topic_id=None)
        assert (await one.say()).status == "completed"
        assert await titles(one) == await titles(two) == [CANARY]
        assert await titles(stranger) == await titles(alone) == []
        assert (await one.api.topics.get(ME, garden.id)).todos == 1
        done = TodoInput(todos=(Todo(id=1, title=CANARY, status="completed"),))
        await two.api.todos.put(ME, two.id, done)
        assert (await one.snapshot()).todos.todos[0].status == "completed"


@pytest.mark.case("CHT-15")
async def test_a_list_is_kept_while_its_conversation_is_in_a_topic(home: Path) -> None:
    async with open_chat(home, [[call("write", todoList=[{"title": "My own"}])], "Noted."]) as chat:
        await chat.say()
        first, second = await a_topic(chat.host), await a_topic(chat.host, "Kitchen")
        other = await another(chat, topic_id=second.id)
        await other.api.todos.put(ME, other.id, TodoInput(todos=(Todo(id=1, title="Theirs"),)))
        # A topic without todos begins with those of who comes first; one that has some keeps them.
        await put(chat.api, chat.id, topic_id=first.id)
        assert await titles(chat) == ["My own"]
        await chat.api.todos.put(ME, chat.id, TodoInput(todos=(Todo(id=1, title="Of the topic"),)))
        await put(chat.api, chat.id, topic_id=second.id)
        assert await titles(chat) == ["Theirs"]
        await put(chat.api, chat.id, topic_id=None)
        assert await titles(chat) == ["My own"]
        await put(chat.api, chat.id, topic_id=first.id)
        assert await titles(chat) == ["Of the topic"]


@pytest.mark.case("CHT-15")
async def test_a_deleted_topic_comes_back_with_its_conversations_and_todos(home: Path) -> None:
    async with open_chat(home) as chat:
        topic = await a_topic(chat.host)
        await put(chat.api, chat.id, topic_id=topic.id)
        await chat.api.todos.put(ME, chat.id, TodoInput(todos=(Todo(id=1, title=CANARY),)))
        await chat.api.topics.delete(ME, topic.id)
        assert await titles(chat) == []
        assert (await chat.snapshot()).conversation.settings.topic_id is None
        assert (await chat.api.topics.list(ME)).topics == ()
        back = await chat.api.topics.restore(ME, topic.id)
        assert (back.conversations, back.todos) == (1, 1)
        assert await titles(chat) == [CANARY]


@pytest.mark.case("CHT-15")
async def test_a_model_is_told_what_others_did_to_the_list_of_its_topic(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as one:
        from tests.behaviour.test_todos import with_model

        await with_model(one, endpoint, "openai-compatible")
        topic = await a_topic(one.host)
        await put(one.api, one.id, topic_id=topic.id)
        two = await another(one)
        outside = await another(one, topic_id=None)
        await two.api.todos.put(ME, two.id, TodoInput(todos=(Todo(id=1, title=CANARY),)))
        for chat in (one, outside):
            endpoint.answer(Reply(Say((Text(["Yes."]),))))
            await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
            assert (await chat.say("What is next?")).status == "completed"
        inside_sent, outside_sent = [request.body.decode() for request in endpoint.requests]
        assert CANARY in inside_sent
        assert CANARY not in outside_sent


@pytest.mark.case("CHT-15")
async def test_every_page_hears_of_topics_and_of_their_todos(home: Path) -> None:
    async with open_chat(home) as chat, asyncio.timeout(PATIENCE):
        changes = chat.host.api.list_changes(ME)
        async with aclosing(changes):
            waiting = asyncio.create_task(anext(changes))
            await asyncio.sleep(0)
            topic = await a_topic(chat.host)
            frame = await waiting
            assert isinstance(frame, TopicsFrame)
            assert [each.name for each in frame.topics.topics] == ["Garden"]
            await put(chat.api, chat.id, topic_id=topic.id)
            await chat.api.todos.put(ME, chat.id, TodoInput(todos=(Todo(id=1, title=CANARY),)))
            frames: list[ListChange] = []
            while not frames or not isinstance(frames[-1], TodosFrame):
                frames.append(await anext(changes))
            assert (frames[-1].topic_id, frames[-1].todos.todos[0].title) == (topic.id, CANARY)
            counted = [each.topics.topics[0].conversations for each in frames if isinstance(each, TopicsFrame)]
            assert counted == [1]


async def test_of_two_changes_at_once_pages_hear_of_the_newer_one_last(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(home) as chat, asyncio.timeout(PATIENCE):
        changes = chat.host.api.list_changes(ME)
        async with aclosing(changes):
            waiting = asyncio.create_task(anext(changes))
            await asyncio.sleep(0)
            topic = await a_topic(chat.host)
            await waiting
            has_read, go_on = asyncio.Event(), asyncio.Event()
            # Whose first answer is late.
            records = chat.host.api.topics._records  # type: ignore[attr-defined]
            read = records.topics

            async def read_late_once(*given: Any) -> TopicList:
                found: TopicList = await read(*given)
                if not has_read.is_set():
                    has_read.set()
                    await go_on.wait()
                return found

            monkeypatch.setattr(records, "topics", read_late_once)
            first = asyncio.create_task(chat.api.topics.update(ME, topic.id, TopicPatch(name="Yard")))
            await has_read.wait()
            second = asyncio.create_task(chat.api.topics.update(ME, topic.id, TopicPatch(name="Meadow")))
            await eventually(lambda: _has_name(chat, topic.id, "Meadow"), "the second change to be kept")
            # Wrong code tells of the second change now.
            await asyncio.wait([second], timeout=0.2)
            go_on.set()
            await asyncio.gather(first, second)
            frame = await anext(changes)
            assert isinstance(frame, TopicsFrame)
            assert [each.name for each in frame.topics.topics] == ["Meadow"]


async def _has_name(chat: Chat, topic_id: str, name: str) -> bool:
    return (await chat.api.topics.get(ME, topic_id)).name == name


@pytest.mark.case("CHT-15")
async def test_another_process_sees_the_list_of_a_topic_and_tells_its_pages(home: Path, postgres_url: str) -> None:
    async with (
        open_chat(home, database_url=postgres_url) as chat,
        open_host(home.parent / "other", postgres_url) as other,
        asyncio.timeout(PATIENCE),
    ):
        topic = await a_topic(chat.host)
        second = await another(chat, topic_id=topic.id)
        assert (await other.api.todos.get(ME, chat.id)).todos == ()
        assert (await other.api.todos.get(ME, second.id)).todos == ()
        await put(chat.api, chat.id, topic_id=topic.id)
        changes = other.api.list_changes(ME)
        async with aclosing(changes):
            waiting = asyncio.create_task(anext(changes))
            await asyncio.sleep(0)
            await chat.api.todos.put(ME, chat.id, TodoInput(todos=(Todo(id=1, title=CANARY),)))
            frame: object = await waiting
            while not isinstance(frame, TodosFrame) or not frame.todos.todos:
                frame = await anext(changes)
            assert frame.todos.todos[0].title == CANARY

        async def seen() -> bool:
            found = [(await other.api.todos.get(ME, each)).todos for each in (chat.id, second.id)]
            return [len(each) for each in found] == [1, 1]

        await eventually(seen, "the list of the topic in the other process")


@pytest.mark.case("CHT-15")
async def test_a_topic_is_its_owner_s(home: Path) -> None:
    async with open_chat(home) as chat:
        topic = await a_topic(chat.host)
        await put(chat.api, chat.id, topic_id=topic.id)
        api = chat.api.topics
        for ask in (
            lambda: api.get("someone-else", topic.id),
            lambda: api.update("someone-else", topic.id, TopicPatch(name="Mine")),
            lambda: api.delete("someone-else", topic.id),
            lambda: api.restore("someone-else", topic.id),
            lambda: chat.api.conversations.list("someone-else", topic=topic.id),
        ):
            with pytest.raises(PilothouseError) as refused:
                await ask()
            assert refused.value.code == "not_found"
        assert (await api.list("someone-else")).topics == ()
        changed = await api.update(ME, topic.id, TopicPatch(name="  Yard\n", description=" Green. "))
        assert (changed.name, changed.description) == ("Yard", "Green.")
        listed = await chat.api.conversations.list(ME, topic=topic.id)
        assert [each.id for each in listed.conversations] == [chat.id]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (TopicInput(name="  "), "A topic needs a name."),
        (TopicInput(name="Long", description="x" * 2_001), "has at most 2,000 characters"),
        (TopicInput(name="garden"), "There is a topic “garden” already."),
    ],
)
async def test_a_topic_that_cannot_be_is_refused_in_a_sentence(home: Path, body: TopicInput, said: str) -> None:
    async with open_chat(home) as chat:
        await a_topic(chat.host)
        with pytest.raises(PilothouseError) as refused:
            await chat.api.topics.create(ME, body)
        assert said in refused.value.message
