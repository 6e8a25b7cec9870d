"""Which writes wait for the disk: all, save those that say that they are no promise."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import sqlalchemy as sa

from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.writer import Transaction, Writer
from pilothouse.types import limits

# As SQLite numbers them: in WAL mode a commit waits for the disk with FULL only.
NORMAL, FULL = 1, 2


@pytest_asyncio.fixture
async def opened(tmp_path: Path) -> AsyncIterator[OpenStore]:
    opened = open_store(tmp_path, None, lambda _conversation_id, _events: None)
    await opened.database.write(waits)
    yield opened
    await opened.close()


def waits(connection: sa.Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA synchronous").scalar_one())


async def test_a_write_waits_for_the_disk_unless_it_is_no_promise(opened: OpenStore) -> None:
    write = opened.database.write
    assert [await write(waits), await write(waits, promised=False), await write(waits)] == [FULL, NORMAL, FULL]
    assert opened.database.write_now(waits) == FULL


async def test_one_promise_in_a_group_has_the_whole_group_wait(opened: OpenStore) -> None:
    writer = Writer(opened.database, lambda _conversation_id, _events: None)

    def unit(tx: Transaction) -> tuple[int, int]:
        return id(tx), waits(tx.connection)

    async def group(*promised: bool) -> set[tuple[int, int]]:
        return set(await asyncio.gather(*(writer.write(unit, promised=each) for each in promised)))

    ((_, level),) = await group(False, False)
    assert level == NORMAL
    ((_, level),) = await group(False, True, False)
    assert level == FULL


async def test_what_is_no_promise_is_on_disk_after_a_while_all_the_same(
    opened: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UNSYNCED_SECONDS", -1.0)
    assert await opened.database.write(waits, promised=False) == FULL
    monkeypatch.setattr(limits, "UNSYNCED_SECONDS", 60.0)
    assert await opened.database.write(waits, promised=False) == NORMAL


async def test_a_connection_that_did_not_wait_is_not_given_to_others(opened: OpenStore) -> None:
    def fail(connection: sa.Connection) -> None:
        assert waits(connection) == NORMAL
        connection.exec_driver_sql("SELECT * FROM nothing")

    with pytest.raises(Exception, match="database"):
        await opened.database.write(fail, promised=False)
    assert opened.database.write_now(waits) == FULL
    assert await opened.database.write(waits) == FULL


async def test_where_fsync_leaves_data_in_the_drive_a_full_one_is_made(opened: OpenStore) -> None:
    for pragma in ("fullfsync", "checkpoint_fullfsync"):
        query = f"PRAGMA {pragma}"
        assert await opened.database.write(lambda c, q=query: c.exec_driver_sql(q).scalar_one()) == 1  # type: ignore[misc]


async def test_a_new_connection_reads_while_another_program_holds_the_database(
    opened: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BUSY_TIMEOUT", 0.0)
    other = sqlite3.connect(tmp_path / "pilothouse.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        opened.database.file.close()
        assert opened.database.read_now(waits) == FULL
    finally:
        other.close()
