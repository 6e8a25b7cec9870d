"""Servers on a real socket of this machine: one that deals in bytes, and a web server of a few lines on top of it."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

HTML = {"content-type": "text/html; charset=utf-8"}
LINE_LIMIT = 64 * 1024


class LoopbackServer:
    """`async with` listens on a port, a free one for 0; what serves connections is ended with it."""

    def __init__(
        self, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", *, port: int = 0, limit: int = LINE_LIMIT
    ) -> None:
        self._tls = tls
        self._host = host
        self._limit = limit
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = port
        # Known once it listens.
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, self._host, self.port, ssl=self._tls, limit=self._limit)
        self.port = int(self._server.sockets[0].getsockname()[1])
        host = f"[{self._host}]" if ":" in self._host else self._host
        self.url = f"http{'s' if self._tls else ''}://{host}:{self.port}"
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
            await self.serve(reader, writer)
        finally:
            self._tasks.discard(task)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        raise NotImplementedError


@dataclass(frozen=True)
class Request:
    """What came in; names of headers are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query))

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode()))

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Return the next request of a connection, None at its end."""
    line = (await reader.readline()).decode("latin-1").split()
    if len(line) < 2:
        return None
    headers: dict[str, str] = {}
    while field_line := (await reader.readline()).decode("latin-1").strip():
        name, _, value = field_line.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(line[0], line[1], headers, body)


@dataclass(frozen=True)
class Answer:
    """What goes out: a body, or a stream of pieces; the connection ends with it where a header says so.

    After `stall_after` bytes of the body nothing more goes out; after `reset_after` the connection is torn down, and
    where the answer is `lost` before any of it.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    stall_after: int | None = None
    reset_after: int | None = None
    stream: AsyncIterator[bytes] | None = None
    lost: bool = False


class TinyHttp(LoopbackServer):
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

    def requests_to(self, path: str) -> list[Request]:
        """Return what came in for a path."""
        return [request for request in self.requests if request.path == path]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while request := await read_request(reader):
                self.requests.append(request)
                self.asked.set()
                answer = self._answer(request)
                answer = answer if isinstance(answer, Answer) else await answer
                await self._write(reader, writer, answer)
                if answer.headers.get("connection") == "close":
                    # What is still to be sent goes out first.
                    writer.close()
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        writer.transport.abort()

    async def _write(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer) -> None:
        if answer.lost:
            raise ConnectionResetError
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


# What a path of a site gives: an answer, HTML, a status and a body that end the connection, or silence.
Page = Answer | str | tuple[int, bytes] | None


def site(pages: Mapping[str, Page]) -> TinyHttp:
    """Return a server that has these pages by path, as they are when they are asked for."""

    async def answer(request: Request) -> Answer:
        found = pages.get(request.path, (404, b"{}"))
        if found is None:
            await asyncio.Event().wait()
        if isinstance(found, tuple):
            return Answer(found[0], found[1], {"connection": "close"})
        return Answer(200, found.encode(), HTML) if isinstance(found, str) else found or Answer()

    return TinyHttp(answer)
