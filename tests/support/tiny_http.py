"""A web server of a few lines on a real socket: a function says what each request gets."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from tests.support.listening import Listening


@dataclass(frozen=True)
class Request:
    """What came in; names of headers are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What goes out: a body, or a stream of pieces.

    After `stall_after` bytes of the body nothing more goes out; after `reset_after` the connection is torn down.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    stall_after: int | None = None
    reset_after: int | None = None
    stream: AsyncIterator[bytes] | None = None


class TinyHttp(Listening):
    """`async with TinyHttp(answer) as server:` listens on loopback and keeps what it was asked."""

    def __init__(
        self, answer: Callable[[Request], Answer | Awaitable[Answer]], tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(tls)
        self._answer = answer
        self.requests: list[Request] = []
        # Streams that the other side closed before their end.
        self.let_go = 0
        self.let_go_of = asyncio.Event()
        self.asked = asyncio.Event()
        self.connections = 0

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while request := await self._read(reader):
                self.requests.append(request)
                self.asked.set()
                answer = self._answer(request)
                await self._write(reader, writer, answer if isinstance(answer, Answer) else await answer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        line = (await reader.readline()).decode("latin-1").split()
        if len(line) < 2:
            return None
        headers: dict[str, str] = {}
        while field_line := (await reader.readline()).decode("latin-1").strip():
            name, _, value = field_line.partition(":")
            headers[name.lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Request(line[0], line[1], headers, body)

    async def _write(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer) -> None:
        size = {"Transfer-Encoding": "chunked"} if answer.stream else {"Content-Length": str(len(answer.body))}
        headers = {**size, **answer.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {answer.status} Status\r\n{head}\r\n".encode("latin-1"))
        if answer.stream:
            await self._pour(reader, writer, answer.stream)
            return
        cut = answer.stall_after if answer.reset_after is None else answer.reset_after
        writer.write(answer.body[:cut])
        await writer.drain()
        if answer.stall_after is not None:
            await asyncio.Event().wait()
        if answer.reset_after is not None:
            raise ConnectionResetError

    async def _pour(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stream: AsyncIterator[bytes]
    ) -> None:
        async def pour() -> None:
            async for piece in stream:
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                await writer.drain()
            writer.write(b"0\r\n\r\n")

        pouring = asyncio.create_task(pour())
        gone = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait((pouring, gone), return_when=asyncio.FIRST_COMPLETED)
            if not pouring.done():
                self.let_go += 1
                self.let_go_of.set()
                raise ConnectionResetError
            await pouring
        finally:
            for task in (pouring, gone):
                task.cancel()
            await asyncio.gather(pouring, gone, return_exceptions=True)
