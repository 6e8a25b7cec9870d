"""The record of what was done: complete for every kind of end, and nobody changes it unseen."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa

from pilothouse.store import upgrade
from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.store import Store
from pilothouse.types.authority import Decision
from pilothouse.types.conversations import Conversation
from pilothouse.types.events import ItemCompleted, ItemCreated, ItemDelta, ItemUpdated
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject, plain
from pilothouse.types.paging import FIRST
from pilothouse.types.ports import ToolError
from tests.store.older import BEFORE_PACKING
from tests.support.records import OWNER, a_conversation, a_posting, an_item

DECISION = Decision(
    verdict="allow", authority="person", rule="outside", why="Allowed.", call_hash="abc", at=5.0, by="local"
)


async def a_talk(store: Store) -> Conversation:
    """Return a conversation with a message, a call that went through, and one that was refused."""
    conversation = await store.add_conversation(a_conversation())
    accepted = await store.post_message(a_posting(conversation.id))
    done, refused = (
        an_item(conversation.id, "tool_call", run_id=accepted.run_id, data=call(path)) for path in ("a.txt", "b.txt")
    )
    facts = {"decision": plain(DECISION), "access": {"operation": "file_operations.create_file"}}
    denied = {"decision": plain(DECISION) | {"verdict": "deny", "by": "local"}}
    error = plain(ToolError("PERMISSION_DENIED", "The person said no."))
    await store.append(conversation.id, [ItemCreated(item=done), ItemCreated(item=refused)], None)
    await store.append(conversation.id, [ItemUpdated(item_id=done.id, data=facts)], None)
    await store.append(conversation.id, [ItemDelta(item_id=done.id, offset=0, text="Done.")], None)
    await store.append(conversation.id, [ItemCompleted(item_id=done.id, status="completed")], None)
    ended = ItemCompleted(item_id=refused.id, status="failed", data=denied | {"error": error})
    await store.append(conversation.id, [ended], None)
    return conversation


def call(path: str) -> JsonObject:
    return {"tool": "file_operations", "arguments": {"operation": "create_file", "path": path}}


async def change(opened: OpenStore, statement: str, **values: object) -> None:
    """Change the database as someone who has the file could."""

    def work() -> None:
        opened.database.write_now(lambda c: c.execute(sa.text(statement), values) and None)

    await asyncio.to_thread(work)


@pytest.mark.case("LOG-01", "ATZ-15")
@pytest.mark.slow
async def test_the_record_says_what_was_done_by_whose_word_and_how_it_ended(store: Store) -> None:
    conversation = await a_talk(store)
    (done, refused), check = await store.audit(OWNER, conversation.id)
    assert (done.operation, done.arguments["path"], done.status) == (
        "file_operations.create_file",
        "a.txt",
        "completed",
    )
    assert done.decision == DECISION
    assert refused.decision is not None
    assert (refused.decision.verdict, refused.status, refused.error) == ("deny", "failed", "The person said no.")
    assert check.sound
    assert check.first_bad is None
    assert check.events == (await store.conversation(OWNER, conversation.id)).last_seq
    assert len(check.head) == 64


TAMPERED = {
    "an argument edited": "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'a.txt', 'c.txt') AS {blob}) "
    "WHERE conversation_id = :id AND seq = 5",
    "a delta edited": "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'Done.', 'Gone.') AS {blob}) "
    "WHERE conversation_id = :id AND seq = 8",
    "an event removed": "DELETE FROM events WHERE conversation_id = :id AND seq = 6",
    "the newest removed": "DELETE FROM events WHERE conversation_id = :id AND seq = 10",
    "the first removed": "DELETE FROM events WHERE conversation_id = :id AND seq = 1",
    "one given to another item": "UPDATE events SET item_id = 'i_other' WHERE conversation_id = :id AND seq = 8",
    "one made of another kind": "UPDATE events SET kind = 'item.updated' WHERE conversation_id = :id AND seq = 8",
    "one inserted at the end": "INSERT INTO events (conversation_id, seq, kind, item_id, body, chain) "
    "SELECT conversation_id, 11, kind, item_id, body, chain FROM events WHERE conversation_id = :id AND seq = 8",
    "one inserted in front": "INSERT INTO events (conversation_id, seq, kind, item_id, body) "
    "SELECT conversation_id, 0, kind, item_id, body FROM events WHERE conversation_id = :id AND seq = 8",
    "one made nonsense": "UPDATE events SET body = {nonsense} WHERE conversation_id = :id AND seq = 5",
    "a seal removed": "UPDATE events SET chain = NULL WHERE conversation_id = :id AND seq = 5",
}
FIRST_BAD = (5, 8, 6, 10, 1, 8, 8, 11, 0, 5, 5)


@pytest.mark.case("LOG-01")
@pytest.mark.parametrize(("how", "first_bad"), list(zip(TAMPERED.values(), FIRST_BAD, strict=True)), ids=list(TAMPERED))
@pytest.mark.slow
async def test_whoever_changes_the_record_is_found_out_at_the_first_event(
    opened: OpenStore, how: str, first_bad: int
) -> None:
    conversation, other = await a_talk(opened.store), await a_talk(opened.store)
    if opened.database.is_sqlite:
        how = how.format(blob="BLOB", nonsense="'a text'")
    else:
        how = how.replace("{nonsense}", "convert_to('{{', 'UTF8')").replace(
            "CAST(body AS TEXT)", "convert_from(body, 'UTF8')"
        )
        how = how.replace("CAST(replace", "convert_to(replace").replace(" AS {blob})", ", 'UTF8')")
    await change(opened, how, id=conversation.id)
    _, check = await opened.store.audit(OWNER, conversation.id)
    assert not check.sound
    assert check.first_bad == first_bad
    _, untouched = await opened.store.audit(OWNER, other.id)
    assert untouched.sound


@pytest.mark.case("LOG-01")
async def test_events_moved_between_conversations_are_found_out(opened: OpenStore) -> None:
    one, other = await a_talk(opened.store), await a_talk(opened.store)
    await change(opened, "UPDATE events SET conversation_id = 'x' WHERE conversation_id = :id", id=one.id)
    await change(
        opened, "UPDATE events SET conversation_id = :one WHERE conversation_id = :id", one=one.id, id=other.id
    )
    _, check = await opened.store.audit(OWNER, one.id)
    assert check.first_bad == 1


@pytest.mark.case("LOG-01")
async def test_writing_goes_on_after_a_change_and_does_not_hide_it(opened: OpenStore) -> None:
    conversation = await a_talk(opened.store)
    await change(opened, "DELETE FROM events WHERE conversation_id = :id AND seq = 10", id=conversation.id)
    item = an_item(conversation.id, "notice", "completed", "On it goes.")
    await opened.store.append(conversation.id, [ItemCreated(item=item)], None)
    _, check = await opened.store.audit(OWNER, conversation.id)
    assert check.first_bad == 10


@pytest.mark.case("LOG-01")
async def test_many_writers_at_once_leave_one_unbroken_chain(opened: OpenStore) -> None:
    store = opened.store
    talks = [await store.add_conversation(a_conversation()) for _ in range(3)]

    async def write(conversation: Conversation, number: int) -> None:
        item = an_item(conversation.id, "notice", "completed", str(number))
        await store.append(conversation.id, [ItemCreated(item=item)], None)

    await asyncio.gather(*(write(talks[number % 3], number) for number in range(90)))
    for conversation in talks:
        _, check = await store.audit(OWNER, conversation.id)
        assert (check.sound, check.events) == (True, 31)


@pytest.mark.case("LOG-01")
async def test_two_processes_that_write_to_one_conversation_leave_one_unbroken_chain(
    postgres_url: str, tmp_path: Path
) -> None:
    opened = [open_store(tmp_path, postgres_url, lambda _id, _events: None) for _ in range(2)]
    try:
        stores = [each.store for each in opened]
        conversation = await stores[0].add_conversation(a_conversation())
        items = [an_item(conversation.id, "notice", "completed", str(number)) for number in range(80)]
        await asyncio.gather(
            *(stores[n % 2].append(conversation.id, [ItemCreated(item=item)], None) for n, item in enumerate(items))
        )
        _, check = await stores[0].audit(OWNER, conversation.id)
        assert (check.sound, check.events) == (True, 81)
    finally:
        for each in opened:
            await each.close()


@pytest.mark.case("LOG-01")
async def test_events_of_an_older_version_are_sealed_when_it_is_upgraded(opened: OpenStore) -> None:
    conversation = await a_talk(opened.store)
    _, before = await opened.store.audit(OWNER, conversation.id)
    for statement in (
        *BEFORE_PACKING,
        "ALTER TABLE events DROP COLUMN chain",
        *(f"DROP TABLE {table}" for table in ("grants", "file_changes", "todos", "search_backlog")),
        "UPDATE alembic_version SET version_num = '0002'",
    ):
        await change(opened, statement)
    await asyncio.to_thread(lambda: opened.database.write_now(upgrade.migrate))
    _, after = await opened.store.audit(OWNER, conversation.id)
    assert after == before
    assert after.sound


@pytest.mark.case("LOG-01")
async def test_tidying_up_leaves_the_chain_whole(store: Store) -> None:
    conversation = await a_talk(store)
    await store.tidy()
    await store.purge(0.0)
    _, check = await store.audit(OWNER, conversation.id)
    assert check.sound


async def test_questions_that_wait_are_listed_over_all_conversations_oldest_first(store: Store) -> None:
    asked: list[Item] = []
    for text in ("First?", "Second?"):
        conversation = await store.add_conversation(a_conversation())
        accepted = await store.post_message(a_posting(conversation.id, text=f"About {text}"))
        run = await store.claim_next(accepted.conversation_id, "p")
        assert run is not None
        question = an_item(conversation.id, "question", "waiting", text, run_id=run.id, data={"kind": "approval"})
        await store.append(conversation.id, [ItemCreated(item=question)], None)
        asked.append(question)
        await store.change_run(run.id, lambda now: msgspec.structs.replace(now, status="waiting"))
    pending = (await store.pending(OWNER, FIRST)).pending
    assert [one.item_id for one in pending] == [item.id for item in asked]
    first = pending[0]
    assert (first.title, first.text, first.data) == ("About First?", "First?", {"kind": "approval"})
    assert (await store.pending("stranger", FIRST)).pending == ()
    await store.append(asked[0].conversation_id, [ItemCompleted(item_id=asked[0].id, status="completed")], None)
    assert [one.item_id for one in (await store.pending(OWNER, FIRST)).pending] == [asked[1].id]


async def test_questions_of_one_turn_are_listed_in_the_order_in_which_they_stand(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    await store.post_message(a_posting(conversation.id))
    run = await store.claim_next(conversation.id, "p")
    assert run is not None
    asked = [an_item(conversation.id, "question", "waiting", f"{n}?", run_id=run.id) for n in range(8)]
    # Ids made in the same moment say nothing about an order.
    asked.sort(key=lambda item: item.id, reverse=True)
    await store.append(conversation.id, [ItemCreated(item=question) for question in asked], None)
    await store.change_run(run.id, lambda now: msgspec.structs.replace(now, status="waiting"))
    assert [one.item_id for one in (await store.pending(OWNER, FIRST)).pending] == [item.id for item in asked]
