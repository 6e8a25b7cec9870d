"""WebSocket: frames of both kinds, batches, paths, sub-protocols, and connections that end badly."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection

from pilothouse.mcp.client.channel import ChannelError, Garbage
from pilothouse.mcp.client.transports.remote import Target
from pilothouse.mcp.client.transports.websocket import WebSocketChannel, addresses
from pilothouse.types import limits
from tests.mcp.client.transports.channel_client import ChannelClient, open_channel
from tests.support.certificates import SelfSigned
from tests.support.mcp_gateway import FaultProxy, Socket
from tests.support.tiny_http import Answer, TinyHttp


@pytest.mark.case("TRN-01", "TRN-10", "TRN-11", "TST-06")
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("batch", [False, True])
async def test_messages_travel_in_frames_of_both_kinds(binary: bool, batch: bool) -> None:
    async with (
        Socket(binary=binary, batch=batch).running() as server,
        open_channel(WebSocketChannel(Target(url=server.url.replace("http", "ws")))) as talk,
    ):
        assert (await talk.shake_hands())["serverInfo"]["name"] == "gateway"
        assert (await talk.ask("tools/list"))["tools"][0]["name"] == "echo"
        assert (await talk.ask("tools/call", {"name": "echo", "arguments": {"a": 1}}))["content"]
        assert (await talk.ask("nonsense"))["code"] == -32601


@pytest.mark.case("TRN-01", "TRN-29", "NET-11")
async def test_an_encrypted_websocket_opens_for_a_certificate_that_is_trusted(tmp_path: Path) -> None:
    own = SelfSigned(tmp_path)
    async with Socket(tls=own.server()).running() as server:
        url = server.url.replace("http", "wss")
        with pytest.raises(ChannelError, match="its certificate is not trusted") as refused:
            async with open_channel(WebSocketChannel(Target(url=url))):
                pass
        assert refused.value.certificate == own.fingerprint
        assert server.seen == []
        async with open_channel(WebSocketChannel(Target(url=url, certificate=own.fingerprint))) as talk:
            assert await talk.ask("ping") == {}


@pytest.mark.case("TRN-12", "TRN-13", "TRN-14")
def test_an_address_becomes_that_of_a_websocket() -> None:
    assert addresses("http://h.example:81/x?k=1") == ["ws://h.example:81/x?k=1", "ws://h.example:81/x/ws?k=1"]
    assert addresses("https://h.example") == ["wss://h.example", "wss://h.example/ws"]
    assert addresses("wss://h.example/ws") == ["wss://h.example/ws"]


@pytest.mark.case("TRN-13")
async def test_the_usual_path_is_tried_when_there_is_a_page_at_the_address() -> None:
    async with Socket(path="/ws").running() as server:
        channel = WebSocketChannel(Target(url=server.url))
        async with open_channel(channel) as talk:
            assert await talk.ask("ping") == {}
            assert channel.found.url.endswith("/ws")


@pytest.mark.case("TRN-15", "OBS-08")
async def test_sub_protocols_and_headers_are_offered(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "pilothouse.mcp")
    server = Socket(subprotocols=("jsonrpc",))
    async with server.running(), open_channel(WebSocketChannel(Target(url=server.url, headers={"X-Key": "s3cret!!"}))):
        request = server.seen[0].request
        assert request is not None
        assert request.headers["X-Key"] == "s3cret!!"
        assert server.seen[0].subprotocol == "jsonrpc"
    place = server.url.replace("http", "ws")
    assert f"WebSocket at {place} as ('mcp', 'jsonrpc') with headers ['X-Key']" in caplog.text
    assert "s3cret!!" not in caplog.text


@pytest.mark.case("TRN-15")
async def test_a_server_that_knows_no_sub_protocol_is_fine() -> None:
    async with (
        Socket(subprotocols=()).running() as server,
        open_channel(WebSocketChannel(Target(url=server.url))) as talk,
    ):
        assert await talk.ask("ping") == {}


@pytest.mark.case("F-22")
async def test_a_server_that_insists_on_another_sub_protocol_is_told() -> None:
    async with Socket(insists_on="graphql").running() as server:
        with pytest.raises(ChannelError, match="graphql") as caught:
            async with open_channel(WebSocketChannel(Target(url=server.url))):
                pass
        assert caught.value.fix
        accepted = Target(url=server.url, subprotocols=("graphql",))
        async with open_channel(WebSocketChannel(accepted)) as talk:
            assert await talk.ask("ping") == {}


@asynccontextmanager
async def talking_to(
    answer: Callable[[ServerConnection], Awaitable[None]], method: str = "tools/call"
) -> AsyncIterator[ChannelClient]:
    """ChannelClient with a server that does this when it is asked for a method."""
    async with (
        Socket(instead={method: answer}).running() as server,
        open_channel(WebSocketChannel(Target(url=server.url))) as talk,
    ):
        yield talk


async def last_word(talk: ChannelClient) -> str:
    """Call a tool, and return why the connection ended."""
    await talk.send("tools/call")
    error = await talk.end()
    assert error is not None
    return error.message


@pytest.mark.case("F-22")
async def test_a_connection_that_ends_in_the_middle_is_told() -> None:
    async def leave(connection: ServerConnection) -> None:
        connection.transport.write(b"\x01\x05he")
        connection.transport.abort()

    async with talking_to(leave) as talk:
        message = await last_word(talk)
    assert message == "The connection to 127.0.0.1 broke: the other side closed the connection."


@pytest.mark.case("F-22")
async def test_the_reason_for_a_goodbye_is_told() -> None:
    async def leave(connection: ServerConnection) -> None:
        await connection.close(1013, "come back later")

    async with talking_to(leave) as talk:
        message = await last_word(talk)
    assert "1013 (come back later)" in message


@pytest.mark.case("F-22", "NET-08")
@pytest.mark.parametrize("fragments", [1, 40])
async def test_a_message_larger_than_allowed_ends_the_connection(
    fragments: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MCP_MESSAGE_BYTES", 100_000)

    async def flood(connection: ServerConnection) -> None:
        await connection.send(["x" * (200_000 // fragments)] * fragments)

    async with talking_to(flood) as talk:
        message = await last_word(talk)
    assert "1009" in message


@pytest.mark.case("F-22")
async def test_a_message_within_the_limit_arrives_however_it_is_cut() -> None:
    async def pieces(connection: ServerConnection) -> None:
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"text": "x" * 2_000_000}})
        await connection.send([text[at : at + 50_000] for at in range(0, len(text), 50_000)])

    async with talking_to(pieces) as talk:
        assert len((await talk.ask("tools/call"))["text"]) == 2_000_000


@pytest.mark.case("F-16", "F-22", "CON-18")
@pytest.mark.slow
async def test_a_peer_that_vanished_is_noticed_by_its_silence() -> None:
    async with (
        Socket().running() as server,
        FaultProxy(server.port) as proxy,
        open_channel(WebSocketChannel(Target(url=proxy.url), ping=0.1)) as talk,
    ):
        assert await talk.ask("ping") == {}
        proxy.fault = "drop"
        error = await talk.end()
    assert error is not None
    assert "does not answer pings" in error.message


async def test_rubbish_is_kept_and_the_connection_goes_on() -> None:
    async def babble(connection: ServerConnection) -> None:
        await connection.send("hello?")
        await connection.send(b"\xff\xfe")

    async with talking_to(babble, "babble") as talk:
        await talk.send("babble")
        assert isinstance(first := await talk.other(), Garbage)
        assert first.text == "hello?"
        assert isinstance(await talk.other(), Garbage)
        assert await talk.ask("ping") == {}


@pytest.mark.case("NET-05")
async def test_a_redirect_to_another_server_is_not_followed() -> None:
    async with Socket().running() as other:
        target = other.url.replace("http", "ws")
        async with TinyHttp(lambda request: Answer(302, b"", {"Location": target, "Connection": "close"})) as server:
            with pytest.raises(ChannelError, match="no WebSocket"):
                async with open_channel(WebSocketChannel(Target(url=server.url, headers={"X-Api-Key": "k"}))):
                    pass
        assert other.seen == []


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "Authentication failed. Check your API key."),
        (403, "refuses access"),
        (429, "Rate limited."),
        (503, "503"),
    ],
)
async def test_a_closed_door_is_told_as_such(status: int, words: str) -> None:
    def closed(request: Any) -> Answer:
        return Answer(status, b"", {"Connection": "close"})

    async with TinyHttp(closed) as server:
        with pytest.raises(ChannelError) as caught:
            async with open_channel(WebSocketChannel(Target(url=server.url))):
                pass
        assert words in caught.value.message
        assert caught.value.status == status
        assert len(server.requests) == 1


async def test_a_goodbye_that_nobody_waits_for_leaves_nothing_running() -> None:
    async with Socket().running() as server:
        channel = WebSocketChannel(Target(url=server.url))
        await channel.open(lambda message: None)
        closing = asyncio.ensure_future(channel.close())
        # It has begun, and waits for the server's own goodbye.
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert all(task.cancelling() for task in channel._tasks), "neither reading nor asking for signs goes on"
        await channel.close()
