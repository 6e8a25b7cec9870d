"""A server on a real socket, from its first connection until nothing of it is left."""

from __future__ import annotations

import asyncio
import ssl
from types import TracebackType
from typing import Self


class Listening:
    """`async with` listens on a free port; what serves connections is ended with it."""

    def __init__(self, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self._tls = tls
        self._host = host
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Return its address."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http{'s' if self._tls else ''}://{host}:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, self._host, 0, ssl=self._tls)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        # A handshake that failed has no task of ours; its end is only noticed by the loop.
        for _ in range(10 if self._tls else 0):
            await asyncio.sleep(0)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        finally:
            self._tasks.discard(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError
