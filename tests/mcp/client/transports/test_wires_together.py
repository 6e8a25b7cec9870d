"""The same session over every wire: handshake, tools, calls, progress, cancelling, several servers at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.session import RpcError, Session, SessionOptions, connect
from pilothouse.mcp.client.transports.detection import channel_to
from pilothouse.mcp.client.transports.remote import Target
from tests.support.mcp_gateway import Brain, OldGateway, Socket, Streamable
from tests.support.tiny_http import TinyHttp
from tests.support.waiting import eventually

WIRES = ["streamable", "events", "sse", "websocket"]
OPTIONS = SessionOptions(client_version="1", probe_timeout=1.0, connect_timeout=5.0)


@asynccontextmanager
async def gateway(wire: str, brain: Brain) -> AsyncIterator[str]:
    """Run a gateway and yield its address."""
    async with AsyncExitStack() as stack:
        if wire == "websocket":
            yield (await stack.enter_async_context(Socket(brain).running())).url.replace("http", "ws")
        elif wire == "sse":
            yield (await stack.enter_async_context(TinyHttp(OldGateway(brain)))).url
        else:
            place = Streamable(brain, form="events" if wire == "events" else "json", session="s")
            place.open_to = ("server/discover",)
            yield f"{(await stack.enter_async_context(TinyHttp(place))).url}/mcp"


@asynccontextmanager
async def connected(wire: str, brain: Brain | None = None, options: SessionOptions = OPTIONS) -> AsyncIterator[Session]:
    async with gateway(wire, brain or Brain()) as url:
        session = await connect(channel_to(Target(url=url)), options)
        try:
            yield session
        finally:
            await session.close()


@pytest.mark.case("TRN-08", "TRN-16", "TRN-17", "TST-02", "TST-05", "TST-06", "PLT-05", "PLT-07")
@pytest.mark.parametrize("wire", WIRES)
async def test_one_session_speaks_over_every_wire(wire: str) -> None:
    async with connected(wire) as session:
        assert session.facts.name == "gateway"
        assert session.facts.era == "handshake"
        assert [tool["name"] for tool in (await session.list_tools()).tools] == ["echo"]
        result: Any = await session.call_tool("echo", {"a": 1})
        assert result["content"][0]["text"] == '{"a": 1}'
        await session.ping()
        with pytest.raises(RpcError, match="no such method") as unknown:
            await session.request("nonsense", {})
        assert unknown.value.code == -32601


@pytest.mark.case("TRN-09", "TST-05")
@pytest.mark.parametrize("wire", WIRES)
async def test_giving_up_a_request_reaches_the_server(wire: str) -> None:
    brain = Brain()
    async with connected(wire, brain) as session:
        waiting = asyncio.create_task(session.request("silent", {}))

        async def heard() -> bool:
            return any(message.get("method") == "silent" for message in brain.heard)

        await eventually(heard, "the request at the server")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

        async def told() -> bool:
            return bool(brain.cancelled)

        await eventually(told, "the server to hear that nobody waits")
        await session.ping()


@pytest.mark.case("TST-05")
async def test_several_servers_over_different_wires_work_side_by_side() -> None:
    async with AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(connected(wire)) for wire in WIRES]
        calls = [session.call_tool("echo", {"n": n}) for n in range(20) for session in sessions]
        results: list[Any] = await asyncio.gather(*calls)
        assert [result["content"][0]["text"] for result in results[::4]] == [f'{{"n": {n}}}' for n in range(20)]


@pytest.mark.case("F-21", "TST-05")
async def test_a_session_that_the_server_forgot_is_made_anew_by_connecting_again() -> None:
    brain = Brain()
    place = Streamable(brain, session="s", open_to=("server/discover",))
    async with TinyHttp(place) as server:
        target = Target(url=f"{server.url}/mcp")
        session = await connect(channel_to(target), OPTIONS)
        place.session = "other"
        with pytest.raises(ChannelError) as caught:
            await session.call_tool("echo", {})
        assert not caught.value.sent
        async with asyncio.timeout(5):
            await asyncio.shield(session.closed)
        await session.close()
        again = await connect(channel_to(target), OPTIONS)
        assert await again.call_tool("echo", {})
        await again.close()


@pytest.mark.case("ERR-10")
async def test_a_closed_door_is_told_when_connecting() -> None:
    from tests.support.tiny_http import Answer, TinyHttp

    async with TinyHttp(lambda request: Answer(401)) as server:
        with pytest.raises(ChannelError, match=r"^Authentication failed. Check your API key.$"):
            await connect(channel_to(Target(url=f"{server.url}/mcp")), OPTIONS)
