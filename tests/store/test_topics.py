"""Topics in the database: named once, shared by conversations, deleted whole and brought back whole."""

from __future__ import annotations

import asyncio
import time

import msgspec
import pytest
import sqlalchemy as sa

from pilothouse.store import schema
from pilothouse.store.opening import OpenStore
from pilothouse.store.store import Store
from pilothouse.types import limits
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.todos import Todo, TodoList
from tests.store.conftest import Published
from tests.support.records import OWNER, a_conversation


async def put(store: Store, conversation: Conversation, topic_id: str | None) -> Conversation:
    """Put a conversation into a topic, or out of it."""
    return await store.change_conversation(
        OWNER,
        conversation.id,
        lambda now: msgspec.structs.replace(now, settings=msgspec.structs.replace(now.settings, topic_id=topic_id)),
    )


async def refusal(work: object) -> PilothouseError:
    with pytest.raises(PilothouseError) as raised:
        await work  # type: ignore[misc]
    return raised.value


@pytest.mark.case("CHT-15")
async def test_topics_are_listed_by_name_with_how_much_is_in_them(store: Store) -> None:
    zebra = await store.add_topic(OWNER, "zebra", "")
    apple = await store.add_topic(OWNER, "Apple", "What grows on trees.")
    inside = await store.add_conversation(a_conversation())
    await store.add_conversation(a_conversation())
    await put(store, inside, apple.id)
    await store.keep_todos(apple.id, TodoList(todos=(Todo(id=1, title="Pick"),), updated_at=1.0), instead_of=0.0)
    listed = (await store.topics(OWNER, FIRST)).topics
    assert [each.name for each in listed] == ["Apple", "zebra"]
    assert (listed[0].conversations, listed[0].todos, listed[0].description) == (1, 1, "What grows on trees.")
    assert listed[1] == zebra
    page = await store.topics(OWNER, Page(limit=1))
    rest = await store.topics(OWNER, Page(limit=1, cursor=page.next))
    assert [each.id for each in (*page.topics, *rest.topics)] == [apple.id, zebra.id]
    assert rest.next is None


@pytest.mark.case("CHT-15")
async def test_the_conversations_of_a_topic_are_listed_in_pages(store: Store) -> None:
    topic = await store.add_topic(OWNER, "Garden", "")
    inside = []
    for _ in range(5):
        made = await store.add_conversation(a_conversation())
        await store.add_conversation(a_conversation())
        inside.append((await put(store, made, topic.id)).id)
    found: list[str] = []
    cursor = None
    while True:
        page = await store.conversations(OWNER, 2, cursor, topic.id)
        found += [each.id for each in page.conversations]
        cursor = page.next
        if cursor is None:
            break
    assert found == list(reversed(inside))


async def test_a_name_is_taken_whatever_its_case_and_can_be_given_again(store: Store) -> None:
    topic = await store.add_topic(OWNER, "Garden", "")
    assert (await refusal(store.add_topic(OWNER, "garden", ""))).code == "conflict"
    other = await store.add_topic(OWNER, "Kitchen", "")
    assert (await refusal(store.change_topic(OWNER, other.id, "GARDEN", None))).code == "conflict"
    assert (await store.change_topic(OWNER, topic.id, "GARDEN", "Green")).name == "GARDEN"
    assert (await store.add_topic("someone-else", "Garden", "")).name == "Garden"


@pytest.mark.case("CHT-15")
async def test_a_topic_of_someone_else_is_none(store: Store) -> None:
    theirs = await store.add_topic("someone-else", "Secret", "")
    mine = await store.add_conversation(a_conversation())
    for topic_id in (theirs.id, "t_none", '%"', ""):
        refused = await refusal(put(store, mine, topic_id))
        assert (refused.code, refused.message) == ("bad_request", "There is no such topic.")
    made = a_conversation()
    settings = msgspec.structs.replace(made.settings, topic_id=theirs.id)
    assert (
        await refusal(store.add_conversation(msgspec.structs.replace(made, settings=settings)))
    ).code == "bad_request"
    for work in (
        store.topic(OWNER, theirs.id),
        store.change_topic(OWNER, theirs.id, "Mine", None),
        store.delete_topic(OWNER, theirs.id),
        store.restore_topic(OWNER, theirs.id),
        store.conversations(OWNER, 10, None, theirs.id),
    ):
        assert (await refusal(work)).code == "not_found"
    assert (await store.topics(OWNER, FIRST)).topics == ()
    assert (await store.topic("someone-else", theirs.id)).name == "Secret"


@pytest.mark.case("CHT-15")
async def test_a_deleted_topic_lets_its_conversations_go_and_takes_them_back(
    store: Store, published: Published
) -> None:
    topic = await store.add_topic(OWNER, "Garden", "")
    stays, moves, deleted = [await store.add_conversation(a_conversation()) for _ in range(3)]
    for each in (stays, moves, deleted):
        await put(store, each, topic.id)
    await store.change_conversation(OWNER, deleted.id, lambda now: msgspec.structs.replace(now, deleted_at=time.time()))
    published.clear()
    await store.delete_topic(OWNER, topic.id)
    assert {each for each, event in published if event.kind == "conversation.updated"} == {
        stays.id,
        moves.id,
        deleted.id,
    }
    for each in (stays, moves, deleted):
        assert (await store.settings(each.id)).topic_id is None
    assert (await refusal(store.topic(OWNER, topic.id))).code == "not_found"
    assert (await refusal(put(store, stays, topic.id))).code == "bad_request"
    other = await store.add_topic(OWNER, "garden", "")
    await put(store, moves, other.id)
    back = await store.restore_topic(OWNER, topic.id)
    # Its name was taken meanwhile.
    assert (back.name, back.conversations) == ("Garden 2", 1)
    assert (await store.settings(stays.id)).topic_id == topic.id
    assert (await store.settings(deleted.id)).topic_id == topic.id
    assert (await store.settings(moves.id)).topic_id == other.id
    again = await store.restore_topic(OWNER, topic.id)
    assert again == back


async def test_what_was_deleted_long_ago_goes_with_everything_in_it(opened: OpenStore) -> None:
    store = opened.store
    topic, kept = await store.add_topic(OWNER, "Old", ""), await store.add_topic(OWNER, "Kept", "")
    todos = TodoList(todos=(Todo(id=1, title="Rest"),), updated_at=1.0)

    def fill(connection: sa.Connection) -> None:
        for number, each in enumerate((topic.id, kept.id)):
            at = {"owner": OWNER, "scope_kind": "topic", "scope": each, "created_at": 1.0}
            memory = {"key": f"m{number}", "text": "x", "digest": "d", "body": b"{}", "origin": "", "updated_at": 1.0}
            connection.execute(sa.insert(schema.memories).values(**at, **memory))
            document = {"id": f"d{number}", "name": "x", "digest": "d", "body": b"{}"}
            connection.execute(sa.insert(schema.documents).values(**at, **document))
            passage = {"document_id": f"d{number}", "position": 0, "line": 1, "section": "", "text": "x"}
            connection.execute(sa.insert(schema.passages).values(**passage))

    await opened.database.write(fill)
    for each in (topic, kept):
        await store.keep_todos(each.id, todos, instead_of=0.0)
    assert (await store.topic(OWNER, topic.id)).memories == 1
    assert (await store.topic(OWNER, topic.id)).documents == 1
    await store.delete_topic(OWNER, topic.id)
    await store.tidy()
    assert (await store.todos(topic.id)) == todos
    long_ago = time.time() - (limits.UNDO_DELETE_DAYS + 1) * 86_400

    def age(connection: sa.Connection) -> None:
        connection.execute(sa.update(schema.topics).where(schema.topics.c.id == topic.id).values(deleted_at=long_ago))

    await opened.database.write(age)
    await store.tidy()

    def left(connection: sa.Connection) -> list[str]:
        tables = ((schema.memories, "key"), (schema.documents, "id"), (schema.passages, "document_id"))
        found = [
            str(value) for table, name in tables for value in connection.execute(sa.select(table.c[name])).scalars()
        ]
        return [*found, *connection.execute(sa.select(schema.topics.c.id)).scalars()]

    assert await opened.database.read(left) == ["m1", "d1", "d1", kept.id]
    assert (await store.todos(topic.id), await store.todos(kept.id)) == (TodoList(), todos)


async def test_nobody_is_left_in_a_topic_that_is_deleted_while_they_join(store: Store) -> None:
    topic = await store.add_topic(OWNER, "Busy", "")
    all_ = [await store.add_conversation(a_conversation()) for _ in range(8)]
    joining = [put(store, each, topic.id) for each in all_]
    ends = await asyncio.gather(*joining[:4], store.delete_topic(OWNER, topic.id), *joining[4:], return_exceptions=True)
    assert all(isinstance(end, Conversation | PilothouseError) or end.id == topic.id for end in ends)  # type: ignore[union-attr]
    assert [(await store.settings(each.id)).topic_id for each in all_] == [None] * 8


async def test_there_are_only_so_many_topics(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TOPICS", 2)
    for name in ("one", "two"):
        await store.add_topic(OWNER, name, "")
    assert (await refusal(store.add_topic(OWNER, "three", ""))).code == "too_many"


async def test_the_settings_of_a_conversation_that_is_gone_are_the_default(store: Store) -> None:
    assert await store.settings("c_none") == ConversationSettings()
