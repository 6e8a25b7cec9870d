"""An answer over HTTP, however it came here: its status, its headers, and its body piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Literal, Protocol

from pilothouse.net.compression import Unpacking, unpacking
from pilothouse.net.errors import NetError
from pilothouse.net.watch import Watch

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Source(Protocol):
    """Where an answer comes from; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]

    async def chunk(self) -> bytes | None:
        """Return the next bytes of the body as they were sent, or None at its end; raise NetError."""
        ...

    async def aclose(self) -> None:
        """Leave the rest of the body, if there is any."""
        ...


class Reply:
    """An answer whose body is still on its way; it must be closed."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._watch = Watch()
        self._unpacking: Unpacking | None = None
        self._unpacked: Iterator[bytes] = iter(())
        self._begun = False
        self.status = source.status

    def header(self, name: str) -> str:
        """Return a header's value, empty when it is absent."""
        return self._source.headers.get(name.lower(), "")

    @property
    def headers(self) -> dict[str, str]:
        """Return all headers, names in lower case."""
        return dict(self._source.headers)

    async def chunk(self, timeout: float | None) -> bytes | None:
        """Return the next bytes of the body, or None at its end."""
        if timeout is not None:
            self._watch.begin(timeout)
        try:
            return await self._next()
        except asyncio.CancelledError:
            if timeout is None or not self._watch.expired():
                raise
            raise NetError("silent", f"nothing came for {timeout:g} s", sent=True) from None
        finally:
            self._watch.end()

    async def _next(self) -> bytes | None:
        if not self._begun:
            self._unpacking = unpacking(self.header("content-encoding"))
            self._begun = True
        if self._unpacking is None:
            return await self._source.chunk()
        while True:
            for piece in self._unpacked:
                return piece
            packed = await self._source.chunk()
            if packed is None:
                return None
            self._unpacked = self._unpacking.pieces(packed)

    async def read(self, limit: int, timeout: float | None) -> bytes:
        """Return the body's first `limit` bytes; what a server sends beyond is not read."""
        parts: list[bytes] = []
        size = 0
        while size < limit and (more := await self.chunk(timeout)) is not None:
            parts.append(more)
            size += len(more)
        return b"".join(parts)[:limit]

    async def aclose(self) -> None:
        """Close the connection, at once if the body is not at its end."""
        self._watch.stop()
        await self._source.aclose()


class Fetched:
    """A small answer, read whole; names of headers are in lower case."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.body = body
        self.headers = headers or {}
