"""Lets one process at a time do something that several on one PostgreSQL must not do at once."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import psycopg

from pilothouse.store.connections import Connections
from pilothouse.store.faults import translate
from pilothouse.store.postgres import line_to
from pilothouse.types import limits


class SharedTurns:
    """Takes locks that end with their holder's connection, whatever becomes of the holder."""

    def __init__(self, url: str, connections: Connections) -> None:
        self._line = line_to(url)
        self._connections = connections

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncGenerator[None, None]:
        """Keep every other process out of what this name stands for; raise if one stays in it for too long."""
        self._connections.check()
        try:
            connection = await psycopg.AsyncConnection.connect(self._line)
        except psycopg.Error as error:
            raise translate(error) from error
        async with connection:
            self._connections.add(connection)
            try:
                wait = f"{limits.SHARED_TURN_SECONDS:g}s"
                await connection.execute("SELECT set_config('lock_timeout', %s, true)", (wait,))
                await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_number(name),))
            except psycopg.Error as error:
                raise translate(error) from error
            yield


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"pilothouse {name}".encode()).digest()[:8], "big", signed=True)
