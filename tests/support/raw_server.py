"""A server where a function reads and writes the raw bytes of each connection."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable

from tests.support.tiny_http import LoopbackServer
from tests.support.waiting import PATIENCE

LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


class Peer:
    """One connection, seen from the server."""

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Counted from 1.
        self.number = number
        self.reader = reader
        self.writer = writer

    async def request(self) -> bytes:
        """Return the next whole request; raise EOFError when there is none."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = LENGTH.search(head)
        return head + await self.reader.readexactly(int(length[1]) if length else 0)

    async def send(self, data: bytes) -> None:
        """Send bytes, and wait when the other side does not read."""
        self.writer.write(data)
        await self.writer.drain()

    async def gone(self) -> None:
        """Wait until the other side has closed the connection."""
        try:
            while await self.reader.read(65536):
                pass
        except ConnectionError:
            return

    def reset(self) -> None:
        """Tear the connection down, as a crash does."""
        raw: socket.socket = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.writer.transport.abort()


class RawServer(LoopbackServer):
    """`async with RawServer(talk) as server:` listens on loopback; a talk that returns ends its connection."""

    def __init__(
        self,
        talk: Callable[[Peer], Awaitable[object]],
        *,
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        super().__init__(tls, host)
        self._talk = talk
        self._changed = asyncio.Condition()
        # Connections there were, and those of them that are open.
        self.connections = 0
        self.open = 0

    async def until(self, *, connections: int = 0, open: int | None = None) -> None:
        """Wait until there were so many connections, and so many are open."""

        def is_so() -> bool:
            return self.connections >= connections and open in (None, self.open)

        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(is_so)

    async def _count(self, connections: int, is_open: int) -> None:
        async with self._changed:
            self.connections += connections
            self.open += is_open
            self._changed.notify_all()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._count(1, 1)
        try:
            await self._talk(Peer(self.connections, reader, writer))
            await writer.drain()
        except (OSError, EOFError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            await self._count(0, -1)


def answer_each(*answers: bytes) -> Callable[[Peer], Awaitable[object]]:
    """Return a talk that gives one of these to each request on a connection, and waits for the other side's end."""

    async def talk(peer: Peer) -> None:
        for answer in answers:
            await peer.request()
            await peer.send(answer)
        await peer.gone()

    return talk


def answer_and_close(answer: bytes) -> Callable[[Peer], Awaitable[object]]:
    """Return a talk that gives this to one request and ends the connection."""

    async def talk(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer)

    return talk
