"""An answer over HTTP, however it came here: its status, its headers, and its body piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Literal, Protocol

from pilothouse.net.compression import Decompressor, decompressor
from pilothouse.net.errors import NetError

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Source(Protocol):
    """Where an answer comes from; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]

    async def chunk(self) -> bytes | None:
        """Return the next bytes of the body as they were sent, or None at its end; raise NetError."""

    async def aclose(self) -> None:
        """Leave the rest of the body, if there is any."""


class Reply:
    """An answer whose body is still on its way; it must be closed."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._timer = ReadTimer()
        self._decompressor: Decompressor | None = None
        self._unpacked: Iterator[bytes] = iter(())
        self._begun = False
        self.status = source.status

    def header(self, name: str) -> str:
        return self._source.headers.get(name.lower(), "")

    @property
    def headers(self) -> dict[str, str]:
        """Return all headers, names in lower case."""
        return dict(self._source.headers)

    async def chunk(self, timeout: float | None) -> bytes | None:
        if timeout is not None:
            self._timer.begin(timeout)
        try:
            return await self._next()
        except asyncio.CancelledError:
            if timeout is None or not self._timer.expired():
                raise
            raise NetError("silent", f"nothing came for {timeout:g} s", sent=True) from None
        finally:
            self._timer.end()

    async def _next(self) -> bytes | None:
        if not self._begun:
            self._decompressor = decompressor(self.header("content-encoding"))
            self._begun = True
        if self._decompressor is None:
            return await self._source.chunk()
        while True:
            for piece in self._unpacked:
                return piece
            packed = await self._source.chunk()
            if packed is None:
                return None
            self._unpacked = self._decompressor.pieces(packed)

    async def read(self, limit: int, timeout: float | None) -> bytes:
        """Return the body's first `limit` bytes; what a server sends beyond is not read."""
        parts: list[bytes] = []
        size = 0
        while size < limit and (more := await self.chunk(timeout)) is not None:
            parts.append(more)
            size += len(more)
        return b"".join(parts)[:limit]

    async def aclose(self) -> None:
        self._timer.stop()
        await self._source.aclose()


class Fetched:
    """A small answer, read whole; names of headers are in lower case."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.body = body
        self.headers = headers or {}

    def header(self, name: str) -> str:
        return self.headers.get(name.lower(), "")


class ReadTimer:
    """Cancels the task whose wait takes too long; the wait then asks `expired` to tell that from being cancelled."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._deadline = 0.0
        self._fired = False
        # How often the task had been cancelled before we did.
        self._before = 0

    def begin(self, timeout: float) -> None:
        """Say that the current task begins to wait."""
        self._task = asyncio.current_task()
        self._deadline = self._loop.time() + timeout
        if self._timer is None or self._timer.when() > self._deadline:
            self._arm(self._deadline)

    def end(self) -> None:
        """Say that the wait is over; the timer stays for the next one."""
        self._task = None

    def expired(self) -> bool:
        """Return whether this watch, and nobody else, cancelled the task."""
        if not self._fired or self._task is None:
            return False
        self._fired = False
        return self._task.uncancel() <= self._before

    def stop(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _arm(self, when: float) -> None:
        self.stop()
        self._timer = self._loop.call_at(when, self._look)

    def _look(self) -> None:
        """Re-arm for a wait that began later, or cancel the one that is overdue."""
        self._timer = None
        if self._task is None:
            return
        if self._loop.time() < self._deadline:
            self._arm(self._deadline)
        else:
            self._fired = True
            self._before = self._task.cancelling()
            self._task.cancel()
