"""A small HTTP server that answers with what it was told and remembers what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import msgspec


class Asked(msgspec.Struct, frozen=True):
    """One request as it arrived; header names are in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes


class Listener:
    """Answers by path; None as an answer means silence."""

    def __init__(self, answers: Mapping[str, tuple[int, bytes] | None]) -> None:
        self.answers = dict(answers)
        self.asked: list[Asked] = []
        self.was_asked = asyncio.Event()
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
            }
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            path = head[0].split(" ")[1]
            self.asked.append(Asked(path, headers, body))
            self.was_asked.set()
            answer = self.answers.get(path.partition("?")[0], (404, b"{}"))
            if answer is None:
                # Until the other side goes away.
                await reader.read()
                return
            status, content = answer
            head_lines = f"HTTP/1.1 {status} X\r\ncontent-length: {len(content)}\r\nconnection: close\r\n\r\n"
            writer.write(head_lines.encode() + content)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def listening(answers: Mapping[str, tuple[int, bytes] | None]) -> AsyncIterator[Listener]:
    """Serve on a free port of this machine."""
    listener = Listener(answers)
    server = await asyncio.start_server(listener.handle, "127.0.0.1", 0)
    listener.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield listener
    finally:
        server.close()
