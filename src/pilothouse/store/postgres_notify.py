"""Tells other processes on the same PostgreSQL which conversations changed, and hears the same from them.

Only names travel; whoever is woken reads the store. A lost message heals at the reader's next look.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec
import psycopg

from pilothouse.store.connections import Connections
from pilothouse.store.postgres import line_to
from pilothouse.types import limits
from pilothouse.types.feed import FeedEvent

_log = logging.getLogger(__name__)
_CHANNEL = "pilothouse"
# PostgreSQL takes 8,000 bytes in one notification; an id has 28.
_IDS_PER_NOTE = 200
_ids = msgspec.json.Decoder(list[str])


class Wakeups:
    """One connection that listens and tells."""

    def __init__(
        self, url: str, connections: Connections, woken: Callable[[str], None], missed: Callable[[], None]
    ) -> None:
        self._line = line_to(url)
        self._connections = connections
        self._woken = woken
        self._missed = missed
        self._changed: set[str] = set()
        self._kick = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        """Listen and tell from now on."""
        self._tasks = [
            asyncio.create_task(self._listen(), name="wakeups-listen"),
            asyncio.create_task(self._tell(), name="wakeups-tell"),
        ]

    async def end(self) -> None:
        """Stop."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def heard(self, conversation_id: str, events: Sequence[FeedEvent]) -> None:
        """Note that events of a conversation were kept; others hear of it within moments."""
        if events and events[0].seq:
            self._changed.add(conversation_id)
            self._kick.set()

    async def _connect(self) -> psycopg.AsyncConnection[tuple[object, ...]]:
        connection = await psycopg.AsyncConnection.connect(self._line, autocommit=True)
        self._connections.add(connection)
        return connection

    async def _listen(self) -> None:
        while True:
            try:
                async with await self._connect() as connection:
                    await connection.execute(f"LISTEN {_CHANNEL}")
                    self._missed()
                    async for note in connection.notifies():
                        if note.pid != connection.info.backend_pid:
                            for conversation_id in _ids.decode(note.payload):
                                self._woken(conversation_id)
            except psycopg.Error as error:
                _log.warning("listening for changes failed: %s", type(error).__name__)
                await asyncio.sleep(limits.STORE_RETRY)

    async def _tell(self) -> None:
        while True:
            try:
                async with await self._connect() as connection:
                    await self._tell_on(connection)
            except psycopg.Error as error:
                _log.warning("telling others of changes failed: %s", type(error).__name__)
                await asyncio.sleep(limits.STORE_RETRY)

    async def _tell_on(self, connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        while True:
            await self._kick.wait()
            # Gathered for a moment: one note can name many conversations.
            await asyncio.sleep(limits.WAKEUP_GATHER)
            self._kick.clear()
            ids = [self._changed.pop() for _ in range(len(self._changed))]
            for start in range(0, len(ids), _IDS_PER_NOTE):
                payload = msgspec.json.encode(ids[start : start + _IDS_PER_NOTE]).decode()
                await connection.execute("SELECT pg_notify(%s, %s)", (_CHANNEL, payload))
