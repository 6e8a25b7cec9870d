"""Asks PostgreSQL again and again whether it is there, on a connection of its own.

A database that refuses says so by itself. One that hangs says nothing: its machine is stopped, or something between
lets connections stand and nothing through. Then all connections are cut, so that nobody waits any longer, and until it
answers again whoever asks for something is told at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

import psycopg

from pilothouse.store.connections import Connections, hang_up
from pilothouse.store.postgres import limit, line_to
from pilothouse.types import limits

_log = logging.getLogger(__name__)


class HealthCheck:
    """The watch over one database."""

    def __init__(self, url: str, connections: Connections, changed: Callable[[], None]) -> None:
        self._line = line_to(url)
        self._connections = connections
        # Called when the database begins to hang, and when it is back.
        self._changed = changed
        self._connection: psycopg.AsyncConnection[tuple[object, ...]] | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Watch from now on."""
        self._task = asyncio.create_task(self._watch(), name="store-health")

    async def end(self) -> None:
        """Stop watching."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._drop()

    async def _watch(self) -> None:
        while True:
            # A second time on a new connection: one that broke says nothing about the others.
            silent = not (await self._answers() or await self._answers())
            was, self._connections.silent = self._connections.silent, silent
            if silent:
                # Each time: what was being opened meanwhile hangs as well.
                self._connections.cut()
            if silent is not was:
                _log.log(logging.ERROR if silent else logging.INFO, _SAID[silent])
                self._changed()
            await asyncio.sleep(limits.STORE_RETRY if silent else limits.PULSE_EVERY)

    async def _answers(self) -> bool:
        """Return whether the database says anything in time; a refusal is an answer, too."""
        asking = asyncio.create_task(self._ask(), name="store-health-ask")
        try:
            await asyncio.wait([asking], timeout=limits.PULSE_PATIENCE)
            return asking.done() and asking.result()
        finally:
            if not asking.done():
                self._give_up(asking)
                await asyncio.wait([asking])

    def _give_up(self, asking: asyncio.Task[bool]) -> None:
        if self._connection is None:
            asking.cancel()
        else:
            # One that is cancelled would ask for the end of its statement, and wait for that as well.
            hang_up(self._connection)

    async def _ask(self) -> bool:
        try:
            if self._connection is None:
                self._connection = await psycopg.AsyncConnection.connect(self._line, autocommit=True)
                await limit(self._connection)
            await self._connection.execute("SELECT 1")
        except psycopg.errors.ConnectionTimeout:
            return False
        except psycopg.Error:
            await self._drop()
        return True

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                await connection.close()


_SAID = {True: "the database does not answer: its connections are cut", False: "the database answers again"}
