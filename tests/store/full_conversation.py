"""A conversation that has a row in every table there is."""

from __future__ import annotations

import asyncio
import time

import msgspec
import sqlalchemy as sa

from pilothouse.store import schema
from pilothouse.store.database import Database
from pilothouse.store.documents import StoredDocuments
from pilothouse.store.opening import OpenStore
from pilothouse.store.store import Store
from pilothouse.types.authority import Grant, Pattern
from pilothouse.types.branches import ForkWish, place_of
from pilothouse.types.changes import FileChange, KeptChange
from pilothouse.types.documents import Document, Passage
from pilothouse.types.events import ItemCompleted, ItemCreated, ItemDelta
from pilothouse.types.ids import new_id
from pilothouse.types.memories import Memory, MemoryOrigin
from pilothouse.types.ports import Part
from pilothouse.types.records import KeptResult, Posting
from pilothouse.types.scopes import Scope
from pilothouse.types.todos import Todo, TodoList
from tests.support.records import OWNER, a_conversation, a_posting, an_item

# Text of all kinds, and bytes that are none.
WORDS = "Grüße, \x00 \u2028 \U0001f600 “quoted” \\ backslash"
BYTES = bytes(range(256))
USAGE = {"input": 100, "output": 20, "cacheRead": 60, "cacheWrite": 5, "reasoning": 3}


async def add_full_conversation(opened: OpenStore) -> str:
    """Keep one, with words that can be found, a call and its result, a permission, a changed file and todos."""
    store = opened.store
    conversation = await store.add_conversation(a_conversation())
    posting = a_posting(conversation.id, "An albatross.", key=new_id("u"))
    await store.post_message(posting)
    answer = an_item(conversation.id, run_id=posting.run.id)
    call = an_item(conversation.id, "tool_call", run_id=posting.run.id, data={"tool": "t", "arguments": {"a": WORDS}})
    await store.append(conversation.id, [ItemCreated(item=answer), ItemCreated(item=call)], None)
    await store.append(conversation.id, [ItemDelta(item_id=answer.id, offset=0, text="A pelican.")], None)
    ends = [
        ItemCompleted(item_id=answer.id, status="completed", data={"model": "m", "usage": USAGE, "cost": 0.25}),
        ItemCompleted(item_id=call.id, status="completed"),
    ]
    await store.append(conversation.id, ends, None)
    await _raise_budget(store, conversation.id)
    # As an upgrade leaves it; there is nothing up to there.
    later = sa.insert(schema.usage_backlog).values(conversation_id=conversation.id, position=0, until=0)
    await asyncio.to_thread(opened.database.write_now, lambda connection: connection.execute(later) and None)
    parts = (Part(kind="text", text=WORDS), Part(kind="image", data=BYTES, media_type="image/png", name="picture"))
    await store.keep_result(KeptResult(call.id, conversation.id, parts, cut=True))
    now = time.time()
    grant = Grant(
        id=new_id("g"),
        owner=OWNER,
        conversation_id=conversation.id,
        pattern=Pattern(tool="file_operations.create_file"),
        created_at=now,
        expires_at=now + 300,
        single_use=False,
        question_id="i_1",
    )
    await store.add_grant(grant)
    change = FileChange(
        id=new_id("f"),
        conversation_id=conversation.id,
        run_id=posting.run.id,
        item_id=call.id,
        path="/project/ä.txt",
        before="1" * 64,
        after=None,
        mode=0o100644,
        at=now,
    )
    await store.keep_changes([KeptChange(change, BYTES)])
    assert await store.keep_todos(conversation.id, TodoList((Todo(1, "Fly"),), now), instead_of=0.0)
    await _remember(opened, conversation.id)
    await store.change_run(posting.run.id, lambda run: msgspec.structs.replace(run, status="completed"))
    await _add_branch(store, posting)
    await _add_document(opened, conversation.id)
    await store.beat("p_1")
    await store.add_session(new_id("s"), OWNER, now + 300)
    return conversation.id


async def _add_branch(store: Store, of: Posting) -> None:
    """Say the message in other words, with todos of its own, and leave the first one chosen."""
    edited = msgspec.structs.replace(
        a_posting(of.item.conversation_id, "A kittiwake."),
        fork=ForkWish(kind="edit", instead_of=of.run.id, chosen=False),
    )
    accepted = await store.post_message(edited)
    await store.change_run(accepted.run_id, lambda run: msgspec.structs.replace(run, status="completed"))
    todos = TodoList(todos=(Todo(id=1, title="Dive"),), updated_at=time.time())
    assert await store.keep_todos(place_of(of.item.conversation_id, accepted.branch), todos, instead_of=0.0)


async def _remember(opened: OpenStore, conversation_id: str) -> None:
    now = time.time()
    key = new_id("m")
    topic = sa.insert(schema.topics).values(
        id=key, owner=OWNER, name=WORDS.replace("\x00", " "), description="", created_at=now, updated_at=now
    )
    await asyncio.to_thread(opened.database.write_now, lambda connection: connection.execute(topic) and None)
    memory = Memory(
        key=key,
        title="Birds",
        text=f"A heron. {WORDS} {key}",
        scope=Scope(kind="topic", id=key),
        origin=MemoryOrigin(conversation_id=conversation_id),
        created_at=now,
        updated_at=now,
    )
    await opened.store.add_memory(OWNER, memory)


async def _add_document(opened: OpenStore, conversation_id: str) -> None:
    document = Document(
        id=new_id("d"),
        name="Bird’s.pdf",
        kind="pdf",
        scope=Scope(kind="conversation", id=conversation_id),
        bytes=len(BYTES),
        pages=2,
        passages=2,
        digest="2" * 64,
        created_at=1.0,
    )
    passages = [
        Passage(position=0, page=1, line=1, section="Birds", text="A cormorant."),
        Passage(position=1, page=None, line=2, section="", text="A gannet."),
    ]
    await StoredDocuments(opened.database).add(OWNER, document, BYTES, passages)


async def _raise_budget(store: Store, conversation_id: str) -> None:
    asked = {"kind": "limit", "reason": "day_budget", "raised": 1}
    question = an_item(conversation_id, "question", "waiting", data=asked)
    await store.append(conversation_id, [ItemCreated(item=question)], None)
    said = {"answer": {"by": OWNER, "at": 1.0, "choice": "continue"}}
    await store.append(conversation_id, [ItemCompleted(item_id=question.id, status="completed", data=said)], None)


def rows_of(database: Database) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of every table that a copy should have."""

    def query(connection: sa.Connection) -> dict[str, list[tuple[object, ...]]]:
        return {
            table.name: [
                tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
                for row in connection.execute(sa.select(table).order_by(*table.primary_key.columns))
            ]
            for table in schema.kept()
        }

    return database.read_now(query)
