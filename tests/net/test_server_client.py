"""A line to one server: what it sends, whether it arrived, and where it does not go."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pilothouse.net.addresses import is_offline
from pilothouse.net.errors import NetError
from pilothouse.net.proxies import proxy_for
from pilothouse.net.server_client import ServerClient
from pilothouse.types import limits
from tests.support.certificates import SelfSigned
from tests.support.mcp_gateway import FaultProxy
from tests.support.tiny_http import Answer, TinyHttp


async def test_a_connection_is_used_again_for_the_next_request() -> None:
    async with TinyHttp(lambda request: Answer(200, b"x")) as server:
        client = ServerClient(server.url)
        for _ in range(3):
            reply = await client.send("POST", server.url, headers={}, content=b"{}")
            assert await reply.read(10, 5) == b"x"
            await reply.aclose()
        assert server.connections == 1
        await client.aclose()


@pytest.mark.case("F-18")
async def test_a_spare_connection_that_ended_is_not_used() -> None:
    async with TinyHttp(lambda request: Answer(200, b"x", {"Connection": "close"})) as server:
        client = ServerClient(server.url)
        for _ in range(3):
            reply = await client.send("POST", server.url, headers={}, content=b"{}")
            await reply.read(10, 5)
            await reply.aclose()
        assert len(server.requests) == 3
        await client.aclose()


@pytest.mark.case("F-18")
async def test_a_request_that_arrived_is_not_sent_twice() -> None:
    async with TinyHttp(lambda request: Answer(200, b"x" * 100, reset_after=0)) as server:
        async with FaultProxy(server.port) as proxy:
            proxy.fault = "reset"
            client = ServerClient(proxy.url)
            with pytest.raises(NetError) as caught:
                await client.send("POST", proxy.url, headers={}, content=b"{}")
            await client.aclose()
        assert caught.value.sent
        assert len(server.requests) == 1


@pytest.mark.case("F-18")
async def test_a_request_that_broke_off_on_its_way_is_told_as_not_sent() -> None:
    accepted = 0

    async def slam(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        await reader.read(10)
        raw: socket.socket = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        writer.transport.abort()

    server = await asyncio.start_server(slam, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    client = ServerClient(url)
    try:
        with pytest.raises(NetError) as caught:
            await client.send("POST", url, headers={}, content=b"x" * (32 << 20))
    finally:
        await client.aclose()
        server.close()
        await server.wait_closed()
    assert not caught.value.sent
    # Nothing of it can have been carried out, so it was tried once more.
    assert accepted == 2


@pytest.mark.case("F-17")
async def test_headers_that_do_not_come_are_given_up() -> None:
    async with TinyHttp(lambda request: Answer(200, b"x" * 1000)) as server, FaultProxy(server.port) as proxy:
        proxy.fault, proxy.after = "drop", 10
        client = ServerClient(proxy.url)
        with pytest.raises(NetError) as caught:
            await client.send("POST", proxy.url, headers={}, content=b"{}", timeout=0.2)
        assert (caught.value.problem, caught.value.sent) == ("silent", True)
        await client.aclose()


@pytest.mark.case("NET-08")
@pytest.mark.slow
async def test_a_gzip_bomb_unfolds_in_small_pieces() -> None:
    import gzip

    packed = gzip.compress(b"\0" * (32 << 20))
    async with TinyHttp(lambda request: Answer(200, packed, {"Content-Encoding": "gzip"})) as server:
        client = ServerClient(server.url)
        reply = await client.send("GET", server.url, headers={})
        sizes = [len(piece) async for piece in pieces(reply.chunk)]
        assert max(sizes) <= limits.UNPACK_BYTES
        assert sum(sizes) == 32 << 20
        await reply.aclose()
        await client.aclose()


async def pieces(chunk: object) -> AsyncIterator[bytes]:
    """Yield a body's pieces."""
    assert callable(chunk)
    while (piece := await chunk(5)) is not None:
        yield piece


@pytest.mark.case("NET-08")
async def test_a_compression_that_was_not_asked_for_is_refused() -> None:
    async with TinyHttp(lambda request: Answer(200, b"\x1b", {"Content-Encoding": "br"})) as server:
        client = ServerClient(server.url)
        reply = await client.send("GET", server.url, headers={})
        assert server.requests[0].headers["accept-encoding"] == "identity"
        with pytest.raises(NetError, match="asked not to"):
            await reply.read(10, 5)
        await reply.aclose()
        await client.aclose()


@pytest.mark.case("NET-05")
async def test_a_line_goes_nowhere_but_to_its_server() -> None:
    async with TinyHttp(lambda request: Answer()) as server, TinyHttp(lambda request: Answer()) as other:
        client = ServerClient(server.url)
        with pytest.raises(NetError):
            await client.send("GET", other.url, headers={"Authorization": "Bearer t"})
        assert other.requests == []
        await client.aclose()


@pytest.mark.case("NET-04")
async def test_a_redirect_never_gives_up_encryption(tmp_path: Path) -> None:
    own = SelfSigned(tmp_path)
    away = "http://127.0.0.1/"
    async with TinyHttp(lambda request: Answer(307, b"", {"Location": away}), own.server()) as server:
        client = ServerClient(server.url, certificate=own.fingerprint)
        with pytest.raises(NetError, match="without encryption"):
            await client.send("POST", server.url, headers={}, content=b"{}")
        await client.aclose()


@pytest.mark.case("NET-10")
def test_the_proxy_of_the_environment_is_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "proxy.example:3128")
    monkeypatch.setenv("no_proxy", "intern.example")
    assert proxy_for("https://mcp.example.org/x") == "http://proxy.example:3128"
    assert proxy_for("wss://mcp.example.org/x") == "http://proxy.example:3128"
    assert proxy_for("https://mcp.intern.example/x") is None
    assert proxy_for("https://localhost/x") is None
    assert proxy_for("https://127.0.0.1/x") is None


def test_this_machine_is_never_offline() -> None:
    assert not is_offline("localhost")
    assert not is_offline("127.0.0.1")
