"""Two hosts on one PostgreSQL, and what is looked at and done in their database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg

from pilothouse.wiring import OpenHost, open_host


class Replicas(NamedTuple):
    """Both of them, and what they share."""

    a: OpenHost
    b: OpenHost
    url: str


@asynccontextmanager
async def open_replicas(folder: Path, url: str) -> AsyncIterator[Replicas]:
    """Open two hosts on a database."""
    async with (
        open_host(folder / "a", url, role="server") as a,
        open_host(folder / "b", url, role="server") as b,
    ):
        yield Replicas(a, b, url)


def end_listeners(url: str) -> int:
    """End every connection that listens for changes of settings; return how many did."""
    return _of_listeners("count(pg_terminate_backend(pid))", url)


def listeners(url: str) -> int:
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
