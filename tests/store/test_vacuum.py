"""Room that was used once is given back: to the disk, in small steps, and of SQLite's log."""

from __future__ import annotations

import sqlite3
from itertools import pairwise
from pathlib import Path

import msgspec

from pilothouse.store.database import sqlite_file
from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.store import Store
from pilothouse.types import limits
from pilothouse.types.ports import Part
from pilothouse.types.records import KeptResult
from tests.support.records import OWNER, a_conversation, an_item

MEGABYTE = 1024 * 1024


def number(home: Path, name: str) -> int:
    """Return what SQLite says about a database file, asked from outside."""
    connection = sqlite3.connect(sqlite_file(home))
    try:
        return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
    finally:
        connection.close()


def opened_at(home: Path) -> OpenStore:
    return open_store(home, None, lambda *_: None)


async def used_and_deleted(store: Store, size: int) -> None:
    """Keep something large, and delete it for good."""
    conversation = await store.add_conversation(a_conversation())
    item = an_item(conversation.id, "tool_call")
    part = Part(kind="resource", data=bytes(size), media_type="application/octet-stream")
    await store.keep_result(KeptResult(item_id=item.id, conversation_id=conversation.id, parts=(part,), cut=False))
    await store.change_conversation(OWNER, conversation.id, lambda c: msgspec.structs.replace(c, deleted_at=1.0))
    await store.purge(2.0)


async def test_what_was_deleted_is_given_back_in_small_steps(tmp_path: Path) -> None:
    opened = opened_at(tmp_path)
    await used_and_deleted(opened.store, 6 * MEGABYTE)
    assert number(tmp_path, "auto_vacuum") == 2
    pages = [number(tmp_path, "page_count")]
    while await opened.store.pack():
        pages.append(number(tmp_path, "page_count"))
    steps = [before - after for before, after in pairwise(pages)]
    assert len(steps) >= 4
    assert all(0 < step <= limits.GIVEN_BACK_PAGES for step in steps)
    # And not in hundreds of smaller ones.
    assert all(step >= limits.GIVEN_BACK_PAGES - 1 for step in steps[:-1])
    assert number(tmp_path, "freelist_count") <= limits.FREE_PAGES
    await opened.close()
    assert sqlite_file(tmp_path).stat().st_size < 2 * MEGABYTE


async def test_the_file_of_an_earlier_version_is_written_anew_once_when_most_of_it_is_free(tmp_path: Path) -> None:
    opened = opened_at(tmp_path)
    conversation = await opened.store.add_conversation(a_conversation())
    await opened.close()
    connection = sqlite3.connect(sqlite_file(tmp_path), isolation_level=None)
    connection.execute("PRAGMA auto_vacuum=NONE")
    connection.execute("VACUUM")
    connection.close()
    assert number(tmp_path, "auto_vacuum") == 0
    opened = opened_at(tmp_path)
    assert number(tmp_path, "auto_vacuum") == 0, "there is nothing to be won yet"
    await used_and_deleted(opened.store, 3 * MEGABYTE)
    assert not await opened.store.pack()
    await opened.close()
    assert sqlite_file(tmp_path).stat().st_size > 3 * MEGABYTE
    again = opened_at(tmp_path)
    assert (await again.store.conversation(OWNER, conversation.id)).id == conversation.id
    await again.close()
    assert number(tmp_path, "auto_vacuum") == 2
    assert sqlite_file(tmp_path).stat().st_size < MEGABYTE


async def test_a_log_that_was_large_once_does_not_stay_so(tmp_path: Path) -> None:
    opened = opened_at(tmp_path)
    log = tmp_path / "pilothouse.db-wal"
    await used_and_deleted(opened.store, 2 * limits.WAL_BYTES)
    for _ in range(2):
        await opened.store.add_conversation(a_conversation())
    assert log.stat().st_size <= limits.WAL_BYTES
    await opened.close()
