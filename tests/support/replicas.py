"""Two hosts on one PostgreSQL, each with a data folder of its own and the same master key, as replicas are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from pilothouse.secrets.master_key import FILE_VARIABLE
from pilothouse.secrets.redaction import Redactor
from pilothouse.secrets.store import SecretStore
from pilothouse.settings.home import open_home
from pilothouse.store import upgrade
from pilothouse.store.database import Database
from pilothouse.wiring import OpenHost, open_host
from pilothouse.wiring.shared_settings import Shared, open_shared

KEY = "a master key that stands in no database"


class Replicas(NamedTuple):
    """Both of them, and what they share."""

    a: OpenHost
    b: OpenHost
    url: str


def give_key(monkeypatch: pytest.MonkeyPatch, folder: Path, key: str = KEY) -> Path:
    """Give every host that is opened from now on the same master key."""
    file = folder / "the-master-key"
    file.write_text(key)
    monkeypatch.setenv(FILE_VARIABLE, str(file))
    return file


def hear_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no process notice by itself that settings changed: only who looks knows."""

    async def never(_self: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("pilothouse.store.shared_watch.SharedWatch._follow", never)


@asynccontextmanager
async def replicas(folder: Path, url: str) -> AsyncIterator[Replicas]:
    """Open two hosts on a database."""
    async with (
        open_host(folder / "a", url, role="server") as a,
        open_host(folder / "b", url, role="server") as b,
    ):
        yield Replicas(a, b, url)


def deafen(url: str) -> int:
    """End every connection that listens for changes of settings; return how many did."""
    return _of_listeners("count(pg_terminate_backend(pid))", url)


def listening(url: str) -> int:
    """Return how many connections listen for changes of settings."""
    return _of_listeners("count(*)", url)


def _of_listeners(what: str, url: str) -> int:
    asked = (
        f"SELECT {what} FROM pg_stat_activity "
        "WHERE datname = current_database() AND query LIKE 'LISTEN pilothouse_settings%'"
    )
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(asked.encode()).fetchone()
    assert row is not None
    return int(row[0])


def everything_in(url: str) -> bytes:
    """Return every row of every table of a database as text."""
    with psycopg.connect(url) as connection:
        listed = connection.execute(
            "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables "
            "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        read: Callable[[str], list[tuple[str]]] = lambda table: connection.execute(  # noqa: E731
            f"SELECT t::text FROM {table} t".encode()
        ).fetchall()
        return "\n".join(text for (table,) in listed for (text,) in read(table)).encode()


@contextmanager
def shared_by(url: str, folder: Path) -> Iterator[Shared]:
    """What a process of a data folder shares on a database, without the rest of a host."""
    folder.mkdir(parents=True, exist_ok=True)
    with closing(Database(url)) as database:
        upgrade.prepare(database, folder / "backups")
        home = open_home(folder)
        yield open_shared(home, database, SecretStore(home.secrets, find=lambda: None), Redactor())
