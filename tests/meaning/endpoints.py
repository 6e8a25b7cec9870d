"""Embedding endpoints on loopback, which answer as they are told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pilothouse.net.loop_clients import close_clients
from tests.support.tiny_http import Answer, Request, TinyHttp

Reply = Callable[[dict[str, Any]], tuple[int, bytes]]


class EmbeddingServer(TinyHttp):
    """An endpoint that answers as `reply` says; a status of 0 means never."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(self._reply)
        self.reply = reply

    async def _reply(self, request: Request) -> Answer:
        status, body = self.reply(request.json)
        if not status:
            await asyncio.Event().wait()
        return Answer(status, body)


@asynccontextmanager
async def start_endpoint(reply: Reply) -> AsyncIterator[EmbeddingServer]:
    """Start an endpoint; our connections to it end with it."""
    async with EmbeddingServer(reply) as server:
        try:
            yield server
        finally:
            await close_clients()


def about(text: str, dimension: int = 4) -> list[float]:
    """Return a vector by what a text speaks of."""
    words = (("peanut", "nut", "allergic"), ("friday", "deploy"), ("bicycle", "bike"))
    return [float(sum(word in text.lower() for word in each)) for each in words] + [0.1] * (dimension - 3)


def openai(body: dict[str, Any]) -> tuple[int, bytes]:
    data = [{"index": place, "embedding": about(text)} for place, text in enumerate(body["input"])]
    # In any order: the index says whose each is.
    return 200, json.dumps({"data": data[::-1]}).encode()
