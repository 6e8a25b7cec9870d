"""Reads that take long: they delay nobody, they end, and they stop with whoever waits for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from pilothouse.store.database import Database, sqlite_url
from pilothouse.store.slow_reads import THREADS
from pilothouse.types.errors import PilothouseError
from tests.support.waiting import AT_ONCE, eventually

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x % 7 FROM n) SELECT count(*) FROM n"


def endless(connection: sa.Connection) -> object:
    return connection.execute(sa.text(ENDLESS)).scalar()


def one(connection: sa.Connection) -> object:
    return connection.execute(sa.text("SELECT 1")).scalar()


async def check_free(database: Database) -> None:
    """Check that a slow read finds a thread at once."""
    async with asyncio.timeout(AT_ONCE):
        assert await database.slow.run(one, AT_ONCE, "Too much.") == 1


@pytest.fixture
def database(tmp_path: Path, database_url: str | None) -> Iterator[Database]:
    made = Database(database_url or sqlite_url(tmp_path))
    yield made
    made.close()


@pytest.mark.slow
async def test_a_read_that_takes_too_long_is_stopped_and_told(database: Database) -> None:
    for _ in range(THREADS + 1):
        with pytest.raises(PilothouseError, match="Too much"):
            await database.slow.run(endless, 0.1, "Too much.")
    await check_free(database)


@pytest.mark.slow
async def test_a_read_that_nobody_waits_for_is_stopped(database: Database) -> None:
    begun: list[int] = []

    def look(connection: sa.Connection) -> object:
        begun.append(1)
        return endless(connection)

    reads = [asyncio.ensure_future(database.slow.run(look, 600, "Too much.")) for _ in range(3 * THREADS)]
    await eventually(lambda: asyncio.sleep(0, len(begun) == THREADS), "as many have begun as may")
    for read in reads:
        read.cancel()
    await asyncio.wait(reads)
    await check_free(database)


@pytest.mark.slow
async def test_a_read_that_nobody_waits_for_is_stopped_also_between_two_statements(database: Database) -> None:
    begun, may = threading.Event(), threading.Event()

    def look(connection: sa.Connection) -> object:
        begun.set()
        may.wait(AT_ONCE)
        return endless(connection)

    reads = [asyncio.ensure_future(database.slow.run(look, 600, "Too much.")) for _ in range(THREADS)]
    assert await asyncio.to_thread(begun.wait, AT_ONCE)
    for read in reads:
        read.cancel()
    # It is told to stop while there is nothing to be stopped.
    await asyncio.wait(reads, timeout=0.5)
    may.set()
    await asyncio.wait(reads)
    await check_free(database)


@pytest.mark.slow
async def test_slow_reads_keep_no_other_read_waiting(database: Database) -> None:
    reads = [asyncio.ensure_future(database.slow.run(endless, 600, "Too much.")) for _ in range(3 * THREADS)]
    try:
        async with asyncio.timeout(AT_ONCE):
            assert await asyncio.gather(*(database.read(one) for _ in range(20))) == [1] * 20
    finally:
        for read in reads:
            read.cancel()
        await asyncio.wait(reads)


async def test_a_read_that_fails_says_why(database: Database) -> None:
    with pytest.raises(PilothouseError):
        await database.slow.run(lambda c: c.execute(sa.text("SELECT nothing FROM nowhere")), 10, "Too much.")
    assert await database.slow.run(one, AT_ONCE, "Too much.") == 1
