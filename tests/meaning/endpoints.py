"""Embedding endpoints on loopback, which answer as they are told."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pilothouse.net.loop_clients import close_clients

Reply = Callable[[dict[str, Any]], tuple[int, bytes]]


class Server:
    """An endpoint on loopback that answers as it is told, and remembers what it was asked."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.url = ""
        self.open: set[asyncio.Future[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.open.add(ended)
        await self._answer(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        ended.set_result(None)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                line, *lines = head.strip().split("\r\n")
                headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in lines)}
                body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))))
                self.asked.append((line.split()[1], headers, body))
                status, answer = self.reply(body)
                if not status:
                    # It never answers.
                    await reader.read()
                    return
                writer.write(b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n" % (status, len(answer)) + answer)
                await writer.drain()


@asynccontextmanager
async def serving(reply: Reply) -> AsyncIterator[Server]:
    server = Server(reply)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        await close_clients()
        listening.close()
        await listening.wait_closed()
        await asyncio.gather(*server.open)


def about(text: str, dimension: int = 4) -> list[float]:
    """Return a vector by what a text speaks of."""
    words = (("peanut", "nut", "allergic"), ("friday", "deploy"), ("bicycle", "bike"))
    return [float(sum(word in text.lower() for word in each)) for each in words] + [0.1] * (dimension - 3)


def openai(body: dict[str, Any]) -> tuple[int, bytes]:
    data = [{"index": place, "embedding": about(text)} for place, text in enumerate(body["input"])]
    # In any order: the index says whose each is.
    return 200, json.dumps({"data": data[::-1]}).encode()
