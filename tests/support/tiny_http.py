"""A web server of a few lines on a real socket: a function says what each request gets."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType


@dataclass(frozen=True)
class Request:
    """What came in; names of headers are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What goes out; after `stall_after` bytes of the body nothing more does."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    stall_after: int | None = None


class TinyHttp:
    """`async with TinyHttp(answer) as server:` listens on loopback and keeps what it was asked."""

    def __init__(self, answer: Callable[[Request], Answer], tls: ssl.SSLContext | None = None) -> None:
        self._answer = answer
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[Request] = []

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> TinyHttp:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
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

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while request := await self._read(reader):
                self.requests.append(request)
                await self._write(writer, self._answer(request))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
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

    async def _write(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        headers = {"Content-Length": str(len(answer.body)), **answer.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {answer.status} Status\r\n{head}\r\n".encode("latin-1"))
        writer.write(answer.body[: answer.stall_after])
        await writer.drain()
        if answer.stall_after is not None:
            await asyncio.Event().wait()
