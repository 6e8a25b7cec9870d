"""Connections to PostgreSQL: limits for everything, and an end for who waits in vain."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from procrastinate.schema import SchemaManager

from pilothouse.store import health_check, postgres, postgres_notify
from pilothouse.store.connections import Connections
from pilothouse.store.database import Database
from pilothouse.store.opening import open_store
from pilothouse.types import limits
from pilothouse.types.errors import PASSING, PilothouseError
from tests.support.waiting import eventually

SESSION = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    made = Database(postgres_url)
    yield made
    made.close()


def shown(connection: sa.Connection) -> list[str]:
    return [str(connection.execute(sa.text(f"SHOW {name}")).scalar()) for name in SESSION]


def test_a_server_is_told_to_notice_clients_that_are_gone(database: Database) -> None:
    # Of a line over a network; what each is worth on this one, the server says itself.
    names = ("client_connection_check_interval", "tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_user_timeout")
    query = sa.text("SELECT setting FROM pg_settings WHERE name = ANY(:names) ORDER BY name")
    found = database.read_now(lambda c: list(c.execute(query, {"names": list(names)}).scalars()))
    assert found == ["5000", "10", "3", "19000"]


async def test_connections_that_listen_and_watch_have_all_limits_too(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    connections = Connections()

    limit = postgres.limit

    async def look(connection: psycopg.AsyncConnection[Any]) -> None:
        await limit(connection)
        seen.append(
            [str((await (await connection.execute(f"SHOW {name}")).fetchone() or ("",))[0]) for name in SESSION]
        )

    monkeypatch.setattr(postgres, "limit", look)
    monkeypatch.setattr(health_check, "limit", look)
    nothing = postgres_notify.Hearing(
        lambda _id: None, lambda: None, lambda *_: None, lambda *_: None, tuple, lambda _: None
    )
    wakeups = postgres_notify.Wakeups(postgres_url, connections, nothing)
    watch = health_check.HealthCheck(postgres_url, connections, lambda: None)
    wakeups.begin()
    watch.begin()

    async def all_three() -> bool:
        return len(seen) == 3

    await eventually(all_three, "all three connections")
    await watch.end()
    await wakeups.end()
    assert seen == [["10s", "30s", "5s"]] * 3


async def test_a_connection_whose_preparation_is_cancelled_is_closed(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def hold(_: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(postgres, "limit", hold)
    connection = await psycopg.AsyncConnection.connect(postgres_url)
    setting_up = asyncio.create_task(postgres.set_up(connection, Connections()))
    await begun.wait()
    setting_up.cancel()
    await asyncio.wait([setting_up])
    assert connection.closed


def line(connection: sa.Connection) -> dict[str, str]:
    return dict(connection.connection.driver_connection.info.get_parameters())  # type: ignore[union-attr]


def test_every_connection_has_a_limit_for_everything(database: Database) -> None:
    for _ in range(2):
        assert database.read_now(shown) == ["10s", "30s", "5s"]
        assert database.write_now(shown) == ["10s", "30s", "5s"]
    options = database.read_now(line)
    assert {name: options[name] for name in ("connect_timeout", "keepalives_idle", "tcp_user_timeout")} == {
        "connect_timeout": "5",
        "keepalives_idle": "10",
        "tcp_user_timeout": "19000",
    }


def test_who_waits_for_a_row_waits_longer_than_a_stopped_process_may_hold_it() -> None:
    assert limits.DATABASE_IDLE < limits.DATABASE_LOCK < limits.DATABASE_STATEMENT


def test_what_the_person_set_stays_as_it_is(postgres_url: str, database: Database) -> None:
    name = postgres_url.rpartition("/")[2]
    database.write_now(lambda c: c.execute(sa.text(f'ALTER DATABASE "{name}" SET lock_timeout = 7000')) and None)
    set_there = Database(f"{postgres_url}?connect_timeout=9&options=-c%20statement_timeout%3D0")
    try:
        assert set_there.read_now(shown) == ["7s", "0", "5s"]
        assert set_there.read_now(line)["connect_timeout"] == "9"
    finally:
        set_there.close()


def test_work_that_takes_long_has_a_limit_of_its_own_and_the_next_has_the_usual_one(database: Database) -> None:
    def long(connection: sa.Connection) -> list[str]:
        postgres.take_time(connection, 60)
        return shown(connection)

    def longer(connection: sa.Connection) -> list[str]:
        postgres.take_time(connection, 60, locks=True)
        return shown(connection)

    assert database.write_now(long) == ["10s", "1min", "5s"]
    assert database.write_now(longer) == ["1min", "1min", "1min"]
    assert database.write_now(shown) == ["10s", "30s", "5s"]


def hold(connection: sa.Connection, held: threading.Event, over: threading.Event, most: float = 30) -> None:
    """Hold a row, and do nothing for a while."""
    connection.execute(sa.text("SELECT id FROM rows FOR UPDATE"))
    held.set()
    over.wait(most)
    connection.execute(sa.text("SELECT 1"))


@contextmanager
def held_elsewhere(database: Database) -> Iterator[None]:
    held, over = threading.Event(), threading.Event()
    holding = threading.Thread(target=database.write_now, args=(lambda c: hold(c, held, over),))
    holding.start()
    held.wait(10)
    yield
    over.set()
    holding.join(10)


def sleep(connection: sa.Connection) -> None:
    connection.execute(sa.text("SELECT pg_sleep(60)"))


def take(connection: sa.Connection) -> None:
    connection.execute(sa.text("SELECT id FROM rows FOR UPDATE"))


def idle(connection: sa.Connection) -> None:
    hold(connection, threading.Event(), threading.Event(), 1)


@pytest.mark.parametrize(("kind", "work"), [*zip(SESSION, (take, sleep, idle), strict=True)])
def test_what_a_limit_ended_is_told_as_something_that_passes(
    database: Database, kind: str, work: Callable[[sa.Connection], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(postgres._SESSION, kind, 0.1)
    database.write_now(lambda c: c.execute(sa.text("CREATE TABLE rows AS SELECT 1 AS id")) and None)
    with held_elsewhere(database) if work is take else nullcontext(), pytest.raises(PilothouseError) as refused:
        database.write_now(work)
    assert refused.value.code in PASSING
    assert database.write_now(lambda c: c.execute(sa.text("SELECT 2")).scalar()) == 2


async def test_who_waits_when_the_connections_are_cut_is_told_at_once_and_nobody_begins_to_wait(
    postgres_url: str,
) -> None:
    connections = Connections()
    database = Database(postgres_url, connections)
    begun = threading.Event()

    def wait(connection: sa.Connection) -> None:
        begun.set()
        connection.execute(sa.text("SELECT pg_sleep(25)"))

    try:
        waiting = asyncio.ensure_future(database.read(wait))
        await asyncio.to_thread(begun.wait, 10)
        connections.silent = True
        while not waiting.done():
            connections.cut()
            await asyncio.wait([waiting], timeout=0.05)
        for asked in (waiting, database.read(shown), database.write(shown)):
            with pytest.raises(PilothouseError, match="The database does not answer"):
                await asked
        connections.silent = False
        assert await database.read(shown) == ["10s", "30s", "5s"]
    finally:
        database.close()


def test_closing_does_not_wait_for_a_database_that_hangs(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DATABASE_CLOSE", 0.05)
    monkeypatch.setattr(limits, "STORE_RETRY", 0.05)
    database = Database(postgres_url)
    begun = threading.Event()

    def wait(connection: sa.Connection) -> None:
        begun.set()
        connection.execute(sa.text("SELECT pg_sleep(25)"))

    waiting = database._readers.submit(database.read_now, wait)
    begun.wait(10)
    database.close()
    assert isinstance(waiting.exception(0), PilothouseError)


def test_a_queue_of_another_program_is_not_shared(tmp_path: Path, empty_postgres_url: str) -> None:
    with psycopg.connect(empty_postgres_url, autocommit=True) as connection:
        connection.execute(SchemaManager.get_schema())
    with pytest.raises(PilothouseError, match="Another program keeps a queue of procrastinate in this database"):
        open_store(tmp_path, empty_postgres_url, lambda *_: None)


def test_a_user_who_may_not_create_tables_is_told_so(tmp_path: Path, empty_postgres_url: str) -> None:
    name = f"low_{tmp_path.name}"[:40].lower()
    with psycopg.connect(empty_postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE ROLE "{name}" LOGIN'.encode())
    try:
        with pytest.raises(PilothouseError, match="does not let its user do this: permission denied for schema public"):
            open_store(tmp_path, empty_postgres_url.replace("postgres@", f"{name}@"), lambda *_: None)
    finally:
        with psycopg.connect(empty_postgres_url, autocommit=True) as connection:
            connection.execute(f'DROP ROLE "{name}"'.encode())
