"""Hears from PostgreSQL that shared settings changed, and looks once a second whether a word of that got lost."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

import psycopg

from pilothouse.store.connections import Connections
from pilothouse.store.postgres import line_to
from pilothouse.store.shared_rows import CHANNEL
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

_log = logging.getLogger(__name__)


class SharedWatch:
    """One connection that listens; `look` brings what is in memory in step with the database."""

    def __init__(self, url: str, connections: Connections, look: Callable[[], Awaitable[None]]) -> None:
        self._line = line_to(url)
        self._connections = connections
        self._look = look
        self._kick = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        """Listen and look from now on."""
        self._tasks = [
            asyncio.create_task(self._listen(), name="settings-listen"),
            asyncio.create_task(self._follow(), name="settings-follow"),
        ]

    async def end(self) -> None:
        """Stop."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _listen(self) -> None:
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(self._line, autocommit=True) as connection:
                    self._connections.add(connection)
                    await connection.execute(f"LISTEN {CHANNEL}")
                    # What changed before the connection stood is looked up, too.
                    self._kick.set()
                    async for _ in connection.notifies():
                        self._kick.set()
            except psycopg.Error as error:
                _log.warning("listening for changes of settings failed: %s", type(error).__name__)
            await asyncio.sleep(limits.STORE_RETRY)

    async def _follow(self) -> None:
        while True:
            # Not `wait_for`: before Python 3.12 it forgets that it was cancelled, where the event comes at that moment.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limits.SETTINGS_LOOK):
                    await self._kick.wait()
            self._kick.clear()
            try:
                await self._look()
            except PilothouseError as error:
                # Told to everyone by whoever watches the database; nothing is decided by what may be old.
                _log.info("the shared settings could not be looked at: %s", error.message)
                await asyncio.sleep(limits.STORE_RETRY)
