"""What files were, kept in the database."""

from __future__ import annotations

import time

import msgspec
import pytest

from pilothouse.store.store import Store
from pilothouse.types.changes import FileChange, KeptChange
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ids import new_id
from tests.support.records import OWNER, a_conversation, a_posting

DAY = 86_400.0


async def a_run(store: Store) -> FileChange:
    """Return a change of a run that is known, for others to be made from."""
    conversation = await store.add_conversation(a_conversation())
    posting = a_posting(conversation.id)
    await store.post_message(posting)
    return FileChange(
        id=new_id("f"),
        conversation_id=conversation.id,
        run_id=posting.run.id,
        item_id=posting.item.id,
        path="/project/ä.txt",
        before="1" * 64,
        after=None,
        mode=0o100644,
        at=time.time(),
    )


@pytest.mark.slow
async def test_changes_come_back_as_they_were_kept_oldest_first(store: Store) -> None:
    change = await a_run(store)
    earlier = msgspec.structs.replace(
        change,
        id=new_id("f"),
        item_id=new_id("i"),
        at=change.at - 1,
        before=None,
        moved_from="x",
    )
    kept = [KeptChange(change, b"\0content\xff"), KeptChange(earlier, None)]
    await store.keep_changes(kept)
    assert await store.changes(OWNER, run_id=change.run_id) == [kept[1], kept[0]]
    assert await store.changes(OWNER, item_id=change.item_id) == [kept[0]]
    await store.mark_undone([change.id], 5.0)
    assert await store.changes(OWNER, run_id=change.run_id) == [kept[1]]
    await store.drop_changes([earlier.id])
    assert await store.changes(OWNER, run_id=change.run_id) == []


@pytest.mark.slow
async def test_several_are_kept_together_or_not_at_all(store: Store) -> None:
    change = await a_run(store)
    with pytest.raises(PilothouseError):
        await store.keep_changes([KeptChange(change, b""), KeptChange(change, b"")])
    assert await store.changes(OWNER, run_id=change.run_id) == []


@pytest.mark.slow
async def test_what_belongs_to_someone_else_is_not_there(store: Store) -> None:
    change = await a_run(store)
    await store.keep_changes([KeptChange(change, b"")])
    for asked in ({"run_id": change.run_id}, {"item_id": change.item_id}, {"run_id": "r_none"}, {}):
        with pytest.raises(PilothouseError, match="There is no such"):
            await store.changes("stranger", **asked)


@pytest.mark.slow
async def test_old_changes_are_forgotten(store: Store) -> None:
    change = await a_run(store)
    old = msgspec.structs.replace(change, id=new_id("f"), at=change.at - 31 * DAY)
    await store.keep_changes([KeptChange(change, b"new"), KeptChange(old, b"old")])
    await store.tidy()
    assert [kept.content for kept in await store.changes(OWNER, run_id=change.run_id)] == [b"new"]
