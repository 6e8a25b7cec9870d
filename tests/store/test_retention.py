"""Conversations go by age and by size, the longest untouched first, and nothing that is at work does."""

from __future__ import annotations

import asyncio
import logging
import time

import msgspec
import pytest
import sqlalchemy as sa

from pilothouse.store import retention, schema
from pilothouse.store.opening import OpenStore
from pilothouse.types.events import ItemCreated
from pilothouse.types.retention import Retention, RetentionView
from tests.store.conftest import Published
from tests.store.full_conversation import add_full_conversation
from tests.support.records import OWNER, a_posting, an_item

DAY = 86_400.0


async def aged(opened: OpenStore, days: float) -> str:
    """Keep a conversation that nobody touched for so many days."""
    conversation = await add_full_conversation(opened)
    table = schema.conversations
    change = sa.update(table).where(table.c.id == conversation).values(updated_at=time.time() - days * DAY)
    await asyncio.to_thread(opened.database.write_now, lambda c: c.execute(change) and None)
    return conversation


async def look(opened: OpenStore, wanted: Retention) -> RetentionView:
    return await asyncio.to_thread(opened.database.read_now, lambda c: retention.look(c, wanted))


async def listed(opened: OpenStore) -> set[str]:
    return {one.id for one in (await opened.store.conversations(OWNER, 50, None)).conversations}


async def left_of(opened: OpenStore, conversation_id: str) -> list[str]:
    """Return the tables that still have something of a conversation."""

    def query(connection: sa.Connection) -> list[str]:
        counts = {
            table.name: connection.execute(
                sa.select(sa.func.count()).select_from(table).where(table.c.conversation_id == conversation_id)
            ).scalar_one()
            for table in schema.PARTS_OF_CONVERSATIONS
        }
        receipts = connection.execute(sa.select(schema.receipts.c.body)).scalars()
        counts["receipts"] = sum(conversation_id.encode() in bytes(body) for body in receipts)
        return [name for name, count in counts.items() if count]

    return await asyncio.to_thread(opened.database.read_now, query)


async def test_nothing_goes_while_nothing_is_set(opened: OpenStore) -> None:
    old = await aged(opened, 5000)
    assert not (await look(opened, Retention())).leaving
    assert await opened.store.retain(Retention()) == 0
    assert await listed(opened) == {old}


async def test_what_nobody_touched_for_so_long_goes_for_good_with_all_that_belongs_to_it(
    opened: OpenStore, published: Published, caplog: pytest.LogCaptureFixture
) -> None:
    old, young = await aged(opened, 31), await aged(opened, 29)
    view = await look(opened, Retention(days=30))
    assert [one.id for one in view.leaving] == [old]
    assert view.conversations == 2
    published.clear()
    with caplog.at_level(logging.INFO):
        assert await opened.store.retain(Retention(days=30)) == 1
    assert await listed(opened) == {young}
    assert await left_of(opened, old) == []
    assert "receipts" in await left_of(opened, young)
    assert [(place, event.kind) for place, event in published] == [(old, "conversation.updated")]
    told = [record.getMessage() for record in caplog.records if "removed conversation" in record.getMessage()]
    assert len(told) == 1
    assert old in told[0]
    assert "albatross" not in caplog.text


async def test_the_longest_untouched_go_until_the_rest_is_small_enough(opened: OpenStore) -> None:
    talks = [await aged(opened, days) for days in (1, 3, 2)]
    for conversation in talks:
        large = an_item(conversation, text="x" * 400_000)
        await opened.store.append(conversation, [ItemCreated(item=large)], None)
    # An item stands in the timeline and in the list of items: 0.8 MB for each conversation.
    assert [one.id for one in (await look(opened, Retention(megabytes=1))).leaving] == [talks[1], talks[2]]
    assert (await look(opened, Retention(megabytes=1))).bytes > 2_400_000
    assert await opened.store.retain(Retention(megabytes=2)) == 1
    assert await listed(opened) == {talks[0], talks[2]}
    assert (await look(opened, Retention(megabytes=2))).leaving == ()


async def test_what_is_at_work_or_was_touched_meanwhile_stays(opened: OpenStore) -> None:
    busy = await aged(opened, 50)
    await opened.store.post_message(a_posting(busy))
    table = schema.conversations
    old = sa.update(table).values(updated_at=time.time() - 50 * DAY)
    await asyncio.to_thread(opened.database.write_now, lambda c: c.execute(old) and None)
    assert not (await look(opened, Retention(days=1, megabytes=1))).leaving
    idle = await aged(opened, 40)
    (leaving,) = (await look(opened, Retention(days=30))).leaving
    assert leaving.id == idle
    await opened.store.change_conversation(OWNER, idle, lambda c: msgspec.structs.replace(c, title="Touched"))
    assert not await opened.store._writer.write(lambda tx: retention.take_away(tx, leaving))
    assert await opened.store.retain(Retention(days=30)) == 0
    assert await listed(opened) == {busy, idle}
