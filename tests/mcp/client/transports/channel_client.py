"""Talking over a channel in plain requests, as long as there is no session above it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from pilothouse.mcp.client.channel import (
    Channel,
    ChannelError,
    Garbage,
    Incoming,
    Message,
    Outgoing,
    RequestId,
    Undeliverable,
)

PATIENCE = 20.0


class ChannelClient:
    """Sends requests and waits for what comes back."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.others: asyncio.Queue[Incoming] = asyncio.Queue()
        self._waiting: dict[str, asyncio.Future[Incoming]] = {}
        self._numbers = itertools.count(1)

    def deliver(self, arrived: Incoming) -> None:
        """Give an answer to whoever waits for it, and anything else to `others`."""
        identity = arrived.value.get("id") if isinstance(arrived, Message) else arrived.id
        asked = not (isinstance(arrived, Message) and "method" in arrived.value)
        future = self._waiting.pop(str(identity), None) if asked else None
        if future is None:
            self.others.put_nowait(arrived)
        elif not future.done():
            future.set_result(arrived)

    async def send(self, method: str, params: object = None, headers: Mapping[str, str] | None = None) -> RequestId:
        """Send a request and return its id."""
        number = next(self._numbers)
        self._waiting[str(number)] = asyncio.get_running_loop().create_future()
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        await self.channel.send(Outgoing(body=body, id=number, method=method, headers=headers or {}))
        return number

    async def answer_to(self, number: RequestId) -> Incoming:
        """Return what came back for a request."""
        async with asyncio.timeout(PATIENCE):
            return await self._waiting[str(number)]

    async def ask(self, method: str, params: object = None, headers: Mapping[str, str] | None = None) -> Any:
        """Return the result of a request; raise the ChannelError that it met."""
        number = await self.send(method, params, headers)
        arrived = await self.answer_to(number)
        if isinstance(arrived, Undeliverable):
            raise arrived.error
        assert not isinstance(arrived, Garbage), arrived
        return arrived.value.get("result", arrived.value.get("error"))

    async def tell(self, method: str, params: object = None, headers: Mapping[str, str] | None = None) -> None:
        """Send a notification."""
        body = msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params or {}})
        await self.channel.send(Outgoing(body=body, method=method, headers=headers or {}))

    async def other(self) -> Incoming:
        """Return the next thing that came and answers nothing."""
        async with asyncio.timeout(PATIENCE):
            return await self.others.get()

    async def shake_hands(self) -> Any:
        """Begin like a client of the handshake era."""
        result = await self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        await self.tell("notifications/initialized", headers={"MCP-Protocol-Version": "2025-06-18"})
        return result

    async def end(self) -> ChannelError | None:
        """Return why the channel ended."""
        async with asyncio.timeout(PATIENCE):
            return await asyncio.shield(self.channel.closed)


@asynccontextmanager
async def open_channel(channel: Channel) -> AsyncIterator[ChannelClient]:
    """Open a channel, and close it at the end."""
    talk = ChannelClient(channel)
    try:
        await channel.open(talk.deliver)
        yield talk
    finally:
        await channel.close()
