"""Connections that are used again: the next request of a run needs no new handshake."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from pilothouse.net.addresses import Place
from pilothouse.net.dialing import dial
from pilothouse.net.errors import NetError
from pilothouse.net.http_connection import HttpConnection
from pilothouse.types import limits


class Pool:
    """The connections of one event loop, by where they lead."""

    def __init__(self) -> None:
        # The newest last, each with the time since which nobody uses it.
        self._spare: dict[Place, list[tuple[float, HttpConnection]]] = {}
        self._spares = 0
        self._at_work: set[HttpConnection] = set()
        self._room = asyncio.Semaphore(limits.HTTP_CONNECTIONS)
        self._sweeper: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def ask(self, place: Place, head: bytes, content: bytes = b"") -> PooledSource:
        """Send a request and return its answer once the head is there; raise NetError."""
        await self._room.acquire()
        connection: HttpConnection | None = None
        spare: HttpConnection | None = None
        try:
            self._check_open()
            connection = spare = self._take(place)
            if connection is None:
                connection = await dial(place)
            self._check_open()
            self._at_work.add(connection)
            await connection.ask(head, content)
        except BaseException as error:
            if connection is not None:
                if isinstance(error, NetError) and connection is spare and not connection.has_heard:
                    self._distrust(place, error)
                connection.close()
                self._at_work.discard(connection)
            self._room.release()
            raise
        return PooledSource(self, place, connection)

    def give(self, place: Place, connection: HttpConnection) -> None:
        """Take a connection back: for the next request if it can be used again."""
        self._at_work.discard(connection)
        self._room.release()
        if not connection.is_spare or self._spares >= limits.HTTP_SPARE_CONNECTIONS:
            connection.close()
            return
        loop = asyncio.get_running_loop()
        self._spare.setdefault(place, []).append((loop.time(), connection))
        self._spares += 1
        if self._sweeper is None:
            self._sweeper = loop.call_later(limits.HTTP_SPARE_SECONDS, self._sweep)

    def close(self) -> None:
        """End all connections; answers that are under way break off, and nothing is asked any more."""
        self._is_closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        spare = [connection for line in self._spare.values() for _, connection in line]
        self._spare.clear()
        self._spares = 0
        for connection in (*spare, *self._at_work):
            connection.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise NetError("broken", "the connections were closed")

    def _distrust(self, place: Place, error: NetError) -> None:
        """Mark the end of a spare connection as one, and close the others there: the next request gets a new one."""
        error.stale = not self._is_closed
        for _, connection in self._spare.pop(place, ()):
            self._spares -= 1
            connection.close()

    def _take(self, place: Place) -> HttpConnection | None:
        line = self._spare.get(place)
        now = asyncio.get_running_loop().time()
        while line:
            since, connection = line.pop()
            self._spares -= 1
            if connection.is_spare and now - since < connection.spare_seconds and not connection.has_news():
                return connection
            connection.close()
        return None

    def _sweep(self) -> None:
        """Close what nobody used for long, and look again when the next one will be due."""
        self._sweeper = None
        loop = asyncio.get_running_loop()
        since = loop.time() - limits.HTTP_SPARE_SECONDS
        for place, line in list(self._spare.items()):
            kept = []
            for at, connection in line:
                if at > since and connection.is_spare:
                    kept.append((at, connection))
                else:
                    connection.close()
            self._spares += len(kept) - len(line)
            if kept:
                self._spare[place] = kept
            else:
                del self._spare[place]
        oldest = min((line[0][0] for line in self._spare.values()), default=None)
        if oldest is not None:
            self._sweeper = loop.call_at(oldest + limits.HTTP_SPARE_SECONDS, self._sweep)


class PooledSource:
    """An answer on a connection that goes back to its pool."""

    def __init__(self, pool: Pool, place: Place, connection: HttpConnection) -> None:
        self._pool = pool
        self._place = place
        self._connection: HttpConnection | None = connection
        self.status = connection.status
        self.headers: Mapping[str, str] = connection.headers
        # The connection's own: every token passes here.
        self.chunk: Callable[[], Coroutine[Any, Any, bytes | None]] = connection.chunk

    async def aclose(self) -> None:
        """Give the connection back, or end it when the body is not at its end."""
        connection, self._connection = self._connection, None
        if connection is not None:
            # From now on it may bring somebody else's answer.
            self.chunk = _left
            self._pool.give(self._place, connection)


async def _left() -> bytes | None:
    raise NetError("broken", "its answer was left", sent=True)
