"""What is still to be told when a connection, or the whole program, ends."""

from __future__ import annotations

import asyncio
import gc
import warnings
from typing import Any, cast

from pilothouse.mcp.client.channel import ChannelError, Deliver, Outgoing, RequestId
from pilothouse.mcp.client.jsonrpc import JsonRpc


class Silent:
    """A connection on which nothing comes back."""

    def __init__(self) -> None:
        self.closed: asyncio.Future[ChannelError | None] = asyncio.get_running_loop().create_future()
        self.sent: list[str] = []

    async def open(self, deliver: Deliver) -> None: ...

    async def send(self, message: Outgoing) -> None:
        self.sent.append(message.method)

    def abandon(self, request_id: RequestId) -> None: ...

    async def close(self) -> None:
        self.closed.cancel()


async def test_what_was_not_begun_when_everything_ends_is_left_without_a_warning() -> None:
    channel = Silent()
    rpc = JsonRpc(channel, cast("Any", None))
    rpc.give_up(await rpc.begin("tools/call", {}))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)
        gc.collect()
    assert not seen
    assert channel.sent == ["tools/call"]


async def test_a_server_hears_of_what_nobody_waits_for_before_its_connection_ends() -> None:
    channel = Silent()
    rpc = JsonRpc(channel, cast("Any", None))
    rpc.give_up(await rpc.begin("tools/call", {}))
    await rpc.close()
    assert channel.sent == ["tools/call", "notifications/cancelled"]
