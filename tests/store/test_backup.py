"""A copy of a database holds all of it, and gives it back on either database."""

from __future__ import annotations

import asyncio
import io
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from pilothouse.store import backup, schema, upgrade
from pilothouse.store.database import Database, sqlite_url
from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.portable import Head, LineReader, LineWriter, reading
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from tests.store.full_conversation import add_full_conversation, rows_of
from tests.support.records import OWNER

# Each reads and writes a whole database.
pytestmark = pytest.mark.slow

NAMES = frozenset({"config.json"})


@pytest.fixture(params=["into sqlite", "into postgresql"])
def other_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Another database, empty."""
    if request.param == "into sqlite":
        (tmp_path / "other").mkdir()
        yield sqlite_url(tmp_path / "other")
    else:
        with request.getfixturevalue("postgres").database() as url:
            yield url


def copied(database: Database, target: Path) -> Path:
    with target.open("wb") as sink:
        backup.write(database, sink, {"config.json": b"\xff{}"})
    return target


def put_into(url: str, file: Path, folder: Path, *, instead: bool = False) -> backup.Restored:
    database = Database(url)
    try:
        with reading(file) as lines:
            return backup.read(database, lines, folder, NAMES, instead=instead)
    finally:
        database.close()


@pytest.mark.slow
async def test_what_comes_back_is_what_was_there_on_either_database(
    opened: OpenStore, other_url: str, tmp_path: Path
) -> None:
    for _ in range(2):
        await add_full_conversation(opened)
    before = await asyncio.to_thread(rows_of, opened.database)
    assert all(before.values()), "every table has something in it"
    file = await asyncio.to_thread(copied, opened.database, tmp_path / "copy")
    done = await asyncio.to_thread(put_into, other_url, file, tmp_path)
    assert (done.conversations, done.unsound, done.files) == (2, (), {"config.json": b"\xff{}"})
    again = open_store(tmp_path / "other", None if "sqlite" in other_url else other_url, lambda *_: None)
    try:
        assert await asyncio.to_thread(rows_of, again.database) == before
        for word in ("albatross", "pelican", "project", "backslash"):
            theirs, ours = [await store.search(OWNER, word, 10) for store in (opened.store, again.store)]
            assert sorted(hit.item_id or "" for hit in theirs.hits) == sorted(hit.item_id or "" for hit in ours.hits)
        for conversation_id in await again.store.audited(OWNER):
            assert (await again.store.audit(OWNER, conversation_id))[1].sound
    finally:
        await again.close()


async def test_every_table_is_in_a_copy_or_is_named_as_left_out(opened: OpenStore, tmp_path: Path) -> None:
    with (tmp_path / "copy").open("wb") as sink:
        rows = await asyncio.to_thread(backup.write, opened.database, sink, {})
    left_out = {table.name for table in (*schema.DERIVED, *schema.OF_THE_MOMENT)}
    assert set(rows) | left_out == set(schema.metadata.tables)
    assert not set(rows) & left_out
    of_conversations = {table.name for table in schema.metadata.tables.values() if "conversation_id" in table.columns}
    assert of_conversations == {table.name for table in schema.PARTS_OF_CONVERSATIONS}


def test_a_copy_of_an_older_schema_comes_back_in_the_one_of_today(tmp_path: Path, other_url: str) -> None:
    old = "INSERT INTO conversations VALUES ('c_1', 'local', 'An old albatross', 'person', '{}', 1, 2, NULL, NULL, 0)"
    (tmp_path / "old").mkdir()
    database = Database(sqlite_url(tmp_path / "old"))
    try:
        database.write_now(lambda c: upgrade.migrate(c, "0003"))
        database.write_now(lambda c: c.exec_driver_sql(old) and None)
        with (tmp_path / "copy").open("wb") as sink:
            writer = LineWriter(sink, Head(pilothouse="backup", schema="0003"))
            database.read_now(lambda c: writer.table(c, sa.Table("conversations", sa.MetaData(), autoload_with=c)))
            writer.end()
    finally:
        database.close()
    put_into(other_url, tmp_path / "copy", tmp_path)
    restored = Database(other_url)
    try:
        assert restored.read_now(upgrade.current_version) == upgrade.HEAD
        assert rows_of(restored)["conversations"][0][2] == "An old albatross"
    finally:
        restored.close()


async def test_what_a_shared_database_holds_is_replaced_whole_or_not_at_all(postgres_url: str, tmp_path: Path) -> None:
    opened = open_store(tmp_path, postgres_url, lambda *_: None)
    try:
        await add_full_conversation(opened)
        file = await asyncio.to_thread(copied, opened.database, tmp_path / "copy")
        first = await asyncio.to_thread(rows_of, opened.database)
        await add_full_conversation(opened)
        both = await asyncio.to_thread(rows_of, opened.database)
        cut = tmp_path / "cut"
        cut.write_bytes(file.read_bytes()[:-40])
        with pytest.raises(PilothouseError, match="cut short"):
            await asyncio.to_thread(put_into, postgres_url, cut, tmp_path, instead=True)
        assert await asyncio.to_thread(rows_of, opened.database) == both
        await asyncio.to_thread(put_into, postgres_url, file, tmp_path, instead=True)
        assert await asyncio.to_thread(rows_of, opened.database) == first
    finally:
        await opened.close()


async def test_a_copy_never_holds_more_than_a_few_rows_in_memory(opened: OpenStore, tmp_path: Path) -> None:
    conversation = await add_full_conversation(opened)

    class Nowhere(io.BytesIO):
        def write(self, data: object) -> int:
            return 0

    def fill(connection: sa.Connection) -> None:
        for number in range(200):
            row = {"conversation_id": conversation, "seq": 1000 + number, "kind": "k", "body": b"x" * 200_000}
            connection.execute(sa.insert(schema.events).values(**row))

    await asyncio.to_thread(opened.database.write_now, fill)

    def measure() -> int:
        tracemalloc.start()
        try:
            backup.write(opened.database, Nowhere(), {})
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert await asyncio.to_thread(measure) < (3 * limits.COPIED_ROWS + 10) * 200_000


def test_lines_that_nobody_ended_are_not_taken_for_whole(tmp_path: Path) -> None:
    sink = io.BytesIO()
    LineWriter(sink, Head(pilothouse="backup", schema=upgrade.HEAD)).file("config.json", b"{}")
    with pytest.raises(PilothouseError, match="cut short"):
        list(LineReader(io.BytesIO(sink.getvalue()), "it"))
