"""Conversations out of one database and into another, whoever made the file."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
import sqlalchemy as sa

from pilothouse.host.exchange import stopped
from pilothouse.store import exchange, schema
from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.store import Store
from pilothouse.types import limits
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCreated
from pilothouse.types.exchange import Imported
from pilothouse.types.paging import FIRST
from pilothouse.types.runs import RunOptions
from tests.store.conftest import Published
from tests.store.full_conversation import BYTES, WORDS, add_full_conversation
from tests.support.records import OWNER, a_conversation, a_posting, an_item

# Each reads and writes a whole database.
pytestmark = pytest.mark.slow


@pytest_asyncio.fixture
async def source(tmp_path: Path) -> AsyncIterator[OpenStore]:
    """Where the file comes from."""
    folder = tmp_path / "source"
    folder.mkdir()
    store = open_store(folder, None, lambda *_: None)
    yield store
    await store.close()


async def exported(opened: OpenStore, conversation_id: str | None) -> bytes:
    sink = io.BytesIO()

    def write() -> None:
        opened.database.read_now(lambda c: exchange.write(c, OWNER, conversation_id, sink))

    await asyncio.to_thread(write)
    return sink.getvalue()


async def taken(store: Store, file: bytes) -> Imported:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(file), 1000):
            yield file[start : start + 1000]

    return await store.import_conversations(OWNER, chunks(), stopped)


async def everything_of(opened: OpenStore) -> dict[str, int]:
    def query(connection: sa.Connection) -> dict[str, int]:
        count = sa.select(sa.func.count())
        return {
            table.name: connection.execute(count.select_from(table)).scalar_one()
            for table in (schema.conversations, *schema.PARTS_OF_CONVERSATIONS)
        }

    return await asyncio.to_thread(opened.database.read_now, query)


async def change(opened: OpenStore, statement: str, **values: object) -> None:
    work = opened.database.write_now
    await asyncio.to_thread(work, lambda c: c.execute(sa.text(statement), values) and None)


@pytest.mark.slow
async def test_an_imported_conversation_opens_is_found_and_can_be_verified(
    source: OpenStore, opened: OpenStore, published: Published
) -> None:
    conversation = await add_full_conversation(source)
    there, here = source.store, opened.store
    done = await taken(here, await exported(source, conversation))
    assert [(one.id, one.title, one.already) for one in done.conversations] == [(conversation, "An albatross.", False)]
    snapshots = [await store.snapshot(OWNER, conversation, 50) for store in (there, here)]
    assert snapshots[0].items == snapshots[1].items
    assert snapshots[0].todos == snapshots[1].todos
    call = next(item for item in snapshots[1].items if item.kind == "tool_call")
    full = await here.result(OWNER, call.id)
    assert full is not None
    assert full.parts[0].text == WORDS
    picture = await here.part(OWNER, call.id, 1)
    assert picture is not None
    assert picture.data == BYTES
    for word in ("albatross", "pelican", "backslash"):
        assert (await here.search(OWNER, word, 10)).hits, word
    before = (await there.audit(OWNER, conversation))[1]
    after = (await here.audit(OWNER, conversation, before.events))[1]
    assert (after.sound, after.head) == (True, before.head)
    assert (await here.audit(OWNER, conversation))[1].sound
    # Whoever watches the list hears of it.
    assert [(place, event.kind) for place, event in published] == [(conversation, "conversation.updated")]
    again = await taken(here, await exported(source, conversation))
    assert [one.already for one in again.conversations] == [True]


async def test_what_an_imported_conversation_was_allowed_is_not_taken_over_and_nothing_in_it_goes_on(
    source: OpenStore, opened: OpenStore
) -> None:
    store = source.store
    dangerous = ConversationSettings(
        mode="auto_approve", mode_since=9e9, working_directory="/", model_id="x", system_prompt="Hi"
    )
    conversation = await store.add_conversation(msgspec.structs.replace(a_conversation(), settings=dangerous))
    posting = a_posting(conversation.id)
    options = RunOptions(allow=("terminal_operations.*",))
    await store.post_message(
        msgspec.structs.replace(posting, run=msgspec.structs.replace(posting.run, options=options))
    )
    run = await store.claim_next(conversation.id, "p_1")
    assert run is not None
    asked = an_item(conversation.id, "question", "waiting", "May I?", run.id)
    await store.append(conversation.id, [ItemCreated(item=asked)], None)
    await store.post_message(a_posting(conversation.id, "And then?"))
    await add_full_conversation(source)
    await taken(opened.store, await exported(source, None))
    snapshot = await opened.store.snapshot(OWNER, conversation.id, 50)
    assert snapshot.conversation.settings == ConversationSettings(system_prompt="Hi", mode="ask")
    assert {run.status for run in snapshot.runs} == {"cancelled"}
    assert {run.options for run in snapshot.runs} == {RunOptions()}
    assert [item.status for item in snapshot.items if item.kind == "question"] == ["cancelled"]
    assert not (await opened.store.pending(OWNER, FIRST)).pending
    assert not await opened.store.runs_in(("queued", "running", "waiting"))
    assert not await opened.store.grants(OWNER, None)
    assert (await everything_of(opened))["file_changes"] == 0
    assert (await opened.store.audit(OWNER, conversation.id))[1].sound


async def copy_to(opened: OpenStore, source: OpenStore) -> tuple[str, bytes]:
    """Bring a conversation from one store to another; return its id and the file."""
    conversation = await add_full_conversation(source)
    file = await exported(source, conversation)
    await taken(opened.store, file)
    return conversation, file


async def test_another_record_under_the_same_id_is_refused_and_so_is_one_that_was_changed(
    source: OpenStore, opened: OpenStore
) -> None:
    conversation, file = await copy_to(opened, source)
    await source.store.post_message(a_posting(conversation, "More"))
    longer = await exported(source, conversation)
    before = await everything_of(opened)
    with pytest.raises(PilothouseError, match="is here with another record"):
        await taken(opened.store, longer)
    await change(source, "UPDATE events SET body = :body WHERE seq = 3", body=b"{}")
    await change(opened, "UPDATE conversations SET deleted_at = 1")
    with pytest.raises(PilothouseError, match="is here, deleted"):
        await taken(opened.store, file)
    with pytest.raises(PilothouseError, match="whose record was changed"):
        await taken(opened.store, await exported(source, conversation))
    assert await everything_of(opened) == before


async def test_a_file_cannot_reach_into_other_conversations(source: OpenStore, opened: OpenStore) -> None:
    mine = await add_full_conversation(opened)
    item = (await opened.store.snapshot(OWNER, mine, 50)).items[0]
    before = await everything_of(opened)
    theirs = await add_full_conversation(source)
    whole = await exported(source, theirs)
    await change(source, "UPDATE parts SET conversation_id = :mine", mine=mine)
    await change(source, "UPDATE items SET id = :id WHERE kind = 'response'", id=item.id)
    # An item whose row says one thing and whose content another.
    with pytest.raises(PilothouseError, match="is damaged"):
        await taken(opened.store, await exported(source, theirs))
    assert await everything_of(opened) == before
    # An id that is taken here: whatever was copied before it is found goes again.
    taken_id = msgspec.structs.replace(item, conversation_id=theirs, position=1000, run_id=None)
    await change(source, "DELETE FROM items WHERE kind = 'response'")
    await change(
        source,
        "INSERT INTO items (id, conversation_id, position, kind, status, body) "
        "VALUES (:id, :to, 1000, :kind, :status, :b)",
        id=item.id,
        to=theirs,
        kind=item.kind,
        status=item.status,
        b=msgspec.json.encode(taken_id),
    )
    with pytest.raises(PilothouseError):
        await taken(opened.store, await exported(source, theirs))
    assert await everything_of(opened) == before
    assert [one.already for one in (await taken(opened.store, whole)).conversations] == [False]


async def test_what_a_killed_import_left_is_nobodys_and_is_replaced_by_the_next(
    source: OpenStore, opened: OpenStore
) -> None:
    conversation, file = await copy_to(opened, source)
    whole = await everything_of(opened)
    await change(opened, "DELETE FROM conversations")
    await change(opened, "DELETE FROM items WHERE kind = 'response'")
    assert not (await opened.store.search(OWNER, "albatross", 10)).hits
    with pytest.raises(PilothouseError, match="no such conversation"):
        await opened.store.snapshot(OWNER, conversation, 5)
    await taken(opened.store, file)
    assert await everything_of(opened) == whole


async def test_a_file_that_is_too_large_is_refused_while_it_comes(
    opened: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONVERSATIONS_FILE_BYTES", 10_000)
    with pytest.raises(PilothouseError, match="has at most"):
        await taken(opened.store, b"x" * 20_000)
    with pytest.raises(PilothouseError, match="not a file that Pilothouse wrote"):
        await taken(opened.store, b"x" * 200 + b"\n")
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".import-")]


async def test_an_export_of_one_conversation_has_nothing_of_the_others(source: OpenStore) -> None:
    first, second = [await add_full_conversation(source) for _ in range(2)]
    file = await exported(source, first)
    assert first.encode() in file
    assert second.encode() not in file
    with pytest.raises(PilothouseError, match="no such conversation"):
        await exported(source, "c_none")


async def test_an_imported_title_is_one_line_however_it_was_written(source: OpenStore, opened: OpenStore) -> None:
    conversation = await add_full_conversation(source)
    title = "A\x1b[31m\u202e title\nof " + "many " * 2_000
    await change(source, "UPDATE conversations SET title = :title WHERE id = :id", title=title, id=conversation)
    (taken_over,) = (await taken(opened.store, await exported(source, conversation))).conversations
    kept = (await opened.store.conversation(OWNER, conversation)).title
    assert taken_over.title == kept
    assert kept.startswith("A [31m title of many")
    assert len(kept) <= limits.TITLE_CHARS
