"""A page of the list of conversations costs the same however many there are: counted in what the database does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
import sqlalchemy as sa

from pilothouse.store import reading, schema
from pilothouse.store.opening import OpenStore
from pilothouse.types.json import encode_text
from tests.support.records import OWNER, a_conversation

LIMIT = 20
FEW, MANY = 100, 3_000
# One file brings all of its conversations in at one time.
SAME_TIME = 1_000.0


def add(opened: OpenStore, count: int, *, at: float = SAME_TIME, deleted: bool = False) -> None:
    """Keep conversations that were all used last at the same time."""
    made = [a_conversation() for _ in range(count)]
    rows = [
        {
            "id": each.id,
            "owner": each.owner,
            "title": "",
            "title_source": "none",
            "settings": encode_text(each.settings),
            "created_at": at,
            "updated_at": at,
            "deleted_at": at if deleted else None,
            "activity": None,
            "last_seq": 0,
        }
        for each in made
    ]
    opened.database.write_now(lambda c: c.execute(sa.insert(schema.conversations), rows) and None)


def steps(opened: OpenStore, cursor: str | None) -> int:
    """Return how many steps SQLite's machine takes for a page."""

    def count(connection: sa.Connection) -> int:
        taken = 0

        def step() -> int:
            nonlocal taken
            taken += 1
            return 0

        driver: Any = connection.connection.driver_connection
        driver.set_progress_handler(step, 1)
        try:
            assert len(reading.conversations(connection, OWNER, LIMIT, cursor).conversations) == LIMIT
        finally:
            driver.set_progress_handler(None, 0)
        return taken

    return opened.database.read_now(count)


def rows_read(opened: OpenStore, cursor: str | None) -> int:
    """Return the most rows that a part of PostgreSQL's plan for a page gives."""

    def count(connection: sa.Connection) -> int:
        asked: list[tuple[str, Any]] = []
        sa.event.listen(
            connection, "before_cursor_execute", lambda _c, _cursor, sql, values, *_: asked.append((sql, values))
        )
        reading.conversations(connection, OWNER, LIMIT, cursor)
        sql, values = asked[0]
        told = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", values).scalar_one()
        plan = told if isinstance(told, list) else json.loads(told)
        return max(_rows(plan[0]["Plan"]))

    opened.database.write_now(lambda c: c.exec_driver_sql("ANALYZE conversations") and None)
    return opened.database.read_now(count)


def _rows(node: dict[str, Any]) -> Iterable[int]:
    yield int(node["Actual Rows"]) + int(node.get("Rows Removed by Filter", 0))
    for under in node.get("Plans", ()):
        yield from _rows(under)


def pages(opened: OpenStore) -> tuple[str | None, str | None]:
    """Return where the first page and the one after it begin."""
    first = opened.database.read_now(lambda c: reading.conversations(c, OWNER, LIMIT, None))
    return None, first.next


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_page_takes_the_same_steps_with_few_and_with_many_of_the_same_time(opened: OpenStore) -> None:
    add(opened, FEW)
    before = [steps(opened, cursor) for cursor in pages(opened)]
    add(opened, MANY)
    add(opened, MANY, at=SAME_TIME + 1, deleted=True)
    assert [steps(opened, cursor) for cursor in pages(opened)] == before


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_a_page_reads_its_own_rows_only_on_postgresql(opened: OpenStore) -> None:
    add(opened, MANY)
    add(opened, MANY, at=SAME_TIME + 1, deleted=True)
    assert [rows_read(opened, cursor) <= LIMIT + 1 for cursor in pages(opened)] == [True, True]


async def test_pages_of_the_same_time_have_each_conversation_once(opened: OpenStore) -> None:
    add(opened, FEW)
    add(opened, LIMIT, at=SAME_TIME + 1, deleted=True)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await opened.store.conversations(OWNER, LIMIT, cursor)
        seen += [each.id for each in page.conversations]
        if (cursor := page.next) is None:
            break
    assert (len(seen), len(set(seen)), seen) == (FEW, FEW, sorted(seen, reverse=True))
