"""A connection that is given up while it is being encrypted is closed at once, and not when someone tidies up."""

from __future__ import annotations

import asyncio

import pytest

from pilothouse.net.server_client import ServerClient


async def test_a_greeting_that_is_cancelled_leaves_no_connection_open() -> None:
    greeted, gone = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        greeted.set()
        while await reader.read(65536):
            pass
        gone.set()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    client = ServerClient(url)
    try:
        sending = asyncio.create_task(client.send("GET", url, headers={}))
        async with asyncio.timeout(10):
            await greeted.wait()
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            await gone.wait()
    finally:
        await client.aclose()
        server.close()
        await server.wait_closed()
