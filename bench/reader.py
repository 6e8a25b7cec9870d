"""Readers in a process of their own: one event stream per conversation, read until its run is over.

Reads from its standard input the address, the token and the conversations; says "ready" when all streams are
open, and at the end one line of JSON: what each stream brought, and how late tokens with a stamp came.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator

import msgspec
import uvloop

from bench.results import Read


class Delta(msgspec.Struct):
    """What counts of an event."""

    type: str
    offset: int = 0
    text: str = ""
    run: dict[str, object] = {}


decode = msgspec.json.Decoder(Delta).decode


class Stream:
    """One conversation's text as its reader has it."""

    def __init__(self) -> None:
        self.size = 0
        self.tokens = 0
        self.events = 0
        self.status = ""
        self.delays: list[int] = []

    def take(self, data: bytes) -> bool:
        """Take one event; return whether the run is over."""
        now = time.monotonic_ns()
        self.events += 1
        event = decode(data)
        if event.type == "item.delta":
            text = event.text[max(0, self.size - event.offset) :]
            self.size += len(text)
            self._count(text, now)
        elif event.type == "run.updated":
            self.status = str(event.run["status"])
        return self.status not in ("", "queued", "running")

    def _count(self, text: str, now: int) -> None:
        # Each begins with a space. A long text comes in several events, and a cut may go through a token.
        self.tokens += text.count(" ")
        self.delays += [now - int(piece) for piece in text.split() if len(piece) > 10 and piece.isdigit()]


async def read(port: int, token: str, conversation: str, opened: asyncio.Semaphore) -> Stream:
    """Read one conversation's events to the end of its run."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    path = f"/api/conversations/{conversation}/events"
    writer.write(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\n\r\n".encode())
    stream = Stream()
    async for line in lines(reader):
        if line.startswith(b"retry:"):
            opened.release()
        elif line.startswith(b"data: ") and stream.take(line[6:]):
            break
    writer.close()
    return stream


async def lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the lines of an answer's body, however they are spread over its chunks."""
    await reader.readuntil(b"\r\n\r\n")
    rest = b""
    while size := int(await reader.readline(), 16):
        chunk = await reader.readexactly(size)
        await reader.readexactly(len(b"\r\n"))
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line


async def main() -> None:
    order = json.loads(sys.stdin.readline())
    opened = asyncio.Semaphore(0)
    reads = [
        asyncio.create_task(read(order["port"], order["token"], conversation, opened))
        for conversation in order["conversations"]
    ]
    for _ in reads:
        await opened.acquire()
    print("ready", flush=True)
    streams = await asyncio.gather(*reads)
    done = [
        Read(tokens=s.tokens, characters=s.size, events=s.events, status=s.status, delays=s.delays) for s in streams
    ]
    print(msgspec.json.encode(done).decode(), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
