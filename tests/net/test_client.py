"""The shared client: bounded, direct on loopback, closed with its loop."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from pilothouse.net.client import fetch, send
from pilothouse.net.compression import decompressor
from pilothouse.net.errors import NetError
from pilothouse.net.loop_clients import close_clients
from pilothouse.types import limits
from pilothouse.types.origins import is_loopback_host
from tests.net.answers import CHUNKED, OK, whole
from tests.support.raw_server import Peer, RawServer, answer_and_close, answer_each
from tests.support.scripted_endpoint import Endpoint, Fault, Reply
from tests.support.wire_writers import Say, Text


@pytest_asyncio.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    """A server on loopback."""
    async with Endpoint() as server:
        yield server
        await close_clients()


async def test_a_small_document_is_fetched_whole(endpoint: Endpoint) -> None:
    got = await fetch(f"{endpoint.url}/v1/models", timeout=5, limit=10_000)
    assert got.status == 200
    assert b"text-100" in got.body


@pytest.mark.case("NET-08")
async def test_a_document_larger_than_allowed_is_not_read_on(endpoint: Endpoint) -> None:
    with pytest.raises(NetError, match="more than"):
        await fetch(f"{endpoint.url}/v1/models", timeout=5, limit=20)


async def test_a_proxy_of_the_environment_is_not_asked_for_loopback(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Endpoint() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("all_proxy", proxy.url)
        assert (await fetch(f"{endpoint.url}/closed", timeout=5, limit=100)).body == b"0"
        assert proxy.requests == []


async def test_a_silence_is_told_apart_from_being_cancelled(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say((Text(["a", "b", "c"]),)), fault=Fault("stall", after=1)))
    reply = await send("POST", f"{endpoint.url}/api/chat", headers={}, content=b"{}", timeout=5)
    assert await reply.chunk(5)
    with pytest.raises(NetError) as caught:
        await reply.chunk(0.05)
    assert caught.value.problem == "silent"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await reply.aclose()
    await endpoint.until_closed()


async def test_a_slow_reader_is_not_taken_for_a_silent_server(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say((Text(["a"] * 5),))))
    reply = await send("POST", f"{endpoint.url}/api/chat", headers={}, content=b"{}", timeout=5)
    parked = asyncio.Event()
    while await reply.chunk(0.02) is not None:
        # Longer than the limit, but ours: the server has long sent everything.
        asyncio.get_running_loop().call_later(0.05, parked.set)
        await parked.wait()
        parked.clear()
    await reply.aclose()


async def test_a_connection_is_used_again_for_the_next_request(endpoint: Endpoint) -> None:
    for _ in range(3):
        await fetch(f"{endpoint.url}/closed", timeout=5, limit=100)
    assert len(endpoint._tasks) == 1


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "app.localhost"])
def test_names_of_this_machine_are_known(host: str) -> None:
    assert is_loopback_host(host)


@pytest.mark.parametrize("host", ["example.org", "10.0.0.1", "localhost.example.org", "", "0.0.0.0"])
def test_other_names_are_not_taken_for_this_machine(host: str) -> None:
    assert not is_loopback_host(host)


# --- what callers rely on ---


async def failure(talk: Callable[[Peer], Awaitable[object]], path: str = "") -> NetError:
    """Return why a request to such a server fails."""
    async with RawServer(talk) as server:
        with pytest.raises(NetError) as caught:
            await fetch(f"{server.url}{path}", timeout=5, limit=1000)
        await close_clients()
    return caught.value


async def test_what_went_wrong_is_told_by_one_of_a_few_words() -> None:
    error = await failure(answer_and_close(b""))
    assert (error.problem, error.why, error.sent) == ("broken", "the other side closed the connection", True)
    error = await failure(answer_and_close(whole(b"hello")[:-1]))
    assert (error.problem, error.why, error.sent) == ("broken", "the other side closed the connection", True)
    error = await failure(answer_each(b"220 mail.example ESMTP\r\n"))
    assert (error.problem, error.why, error.sent) == ("broken", "its answer is not HTTP", True)
    error = await failure(answer_each(whole(b"x" * 1001)))
    assert (error.problem, error.why) == ("large", "it sent more than 0 KB")
    error = await failure(answer_and_close(b""), "/\n")
    assert (error.problem, error.why, error.sent) == ("url", "the address or a header is not valid", False)


async def test_a_server_that_is_not_there_is_told() -> None:
    async with RawServer(answer_and_close(b"")) as server:
        url = server.url
    with pytest.raises(NetError) as caught:
        await send("GET", url, headers={}, timeout=5)
    assert (caught.value.problem, caught.value.why) == ("unreachable", "nothing listens there")
    assert not caught.value.sent


@pytest.mark.parametrize("answer", [b"", OK, b"HTTP/1.1 100 Continue\r\n\r\n"])
async def test_a_head_that_does_not_come_is_given_up_and_its_connection_closed(answer: bytes) -> None:
    async with RawServer(answer_each(answer)) as server:
        with pytest.raises(NetError) as caught:
            await send("POST", server.url, headers={}, content=b"{}", timeout=0.1)
        assert (caught.value.problem, caught.value.why) == ("silent", "nothing came for 0.1 s")
        assert caught.value.sent
        await server.until(connections=1, open=0)
    await close_clients()


async def test_closing_the_clients_wakes_a_reader_with_an_error_and_the_next_request_goes_out() -> None:
    async with RawServer(answer_each(CHUNKED + b"5\r\nhello\r\n")) as server:
        reply = await send("GET", server.url, headers={}, timeout=5)
        assert await reply.chunk(5) == b"hello"
        reading = asyncio.create_task(reply.chunk(5))
        await asyncio.sleep(0)
        await close_clients()
        with pytest.raises(NetError) as caught:
            await reading
        assert caught.value.problem == "broken"
        await reply.aclose()
        await reply.aclose()
        with pytest.raises(NetError):
            await reply.chunk(5)
        again = await send("GET", server.url, headers={}, timeout=5)
        assert await again.chunk(5) == b"hello"
        await again.aclose()
        await close_clients()
        await close_clients()
        await server.until(connections=2, open=0)


async def test_another_place_that_a_server_names_is_not_asked() -> None:
    async with RawServer(answer_and_close(b"")) as other:
        there = b"HTTP/1.1 302 Found\r\nlocation: %s\r\ncontent-length: 0\r\n\r\n" % other.url.encode()
        async with RawServer(answer_each(there)) as server:
            got = await fetch(server.url, headers={"authorization": "Bearer key"}, timeout=5, limit=10)
            assert (got.status, got.headers["location"]) == (302, other.url)
            await close_clients()
        assert not other.connections


# --- compressed although nobody asked for it ---


def packed(coding: bytes, body: bytes) -> bytes:
    """Return an answer with a coding."""
    return OK + b"content-encoding: %s\r\ncontent-length: %d\r\n\r\n" % (coding, len(body)) + body


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        (b"gzip", gzip.compress(b"hello", mtime=0)),
        (b"X-GZIP", gzip.compress(b"hello", mtime=0)),
        (b"deflate", zlib.compress(b"hello")),
        # As the standard does not mean it, and many servers do.
        (b"deflate", zlib.compress(b"hello", wbits=-15)),
        (b"deflate", gzip.compress(b"hello", mtime=0)),
    ],
)
async def test_a_compressed_answer_is_unpacked_however_it_is_cut(coding: bytes, body: bytes) -> None:
    async def talk(peer: Peer) -> None:
        await peer.request()
        await peer.send(OK + b"transfer-encoding: chunked\r\ncontent-encoding: %s\r\n\r\n" % coding)
        for one in body:
            await peer.send(b"1\r\n%c\r\n" % one)
        await peer.send(b"0\r\n\r\n")
        await peer.gone()

    for way in (talk, answer_each(packed(coding, body))):
        async with RawServer(way) as server:
            assert (await fetch(server.url, timeout=5, limit=10)).body == b"hello"
            await close_clients()


@pytest.mark.parametrize("body", [b"hello", gzip.compress(b"hello", mtime=0)[:10] + b"\xff" * 20])
async def test_a_damaged_compressed_answer_is_told(body: bytes) -> None:
    error = await failure(answer_each(packed(b"gzip", body)))
    assert (error.problem, error.why) == ("broken", "its compressed answer is damaged")


async def test_an_unknown_compression_is_refused_again_and_again() -> None:
    async with RawServer(answer_each(packed(b"br", b"hello"))) as server:
        reply = await send("GET", server.url, headers={}, timeout=5)
        for _ in range(2):
            with pytest.raises(NetError, match="compresses its answer as “br” although it was asked not to"):
                await reply.chunk(5)
        await reply.aclose()
        await close_clients()


def test_the_name_of_a_compression_cannot_paint_the_terminal() -> None:
    with pytest.raises(NetError) as caught:
        decompressor("\x1b[31mred\x07")
    assert caught.value.why.startswith("it compresses its answer as “[31mred” although")


@pytest.mark.slow
async def test_a_bomb_unfolds_in_small_pieces_and_only_as_far_as_it_is_read() -> None:
    bomb = gzip.compress(b"\0" * (64 << 20))
    async with RawServer(answer_each(packed(b"gzip", bomb))) as server:
        tracemalloc.start()
        try:
            reply = await send("GET", server.url, headers={}, timeout=5)
            assert len(await reply.read(1 << 20, 5)) == 1 << 20
            await reply.aclose()
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()
        await close_clients()


async def test_what_follows_the_end_of_a_compressed_answer_is_not_kept() -> None:
    more = 32 << 20

    async def talk(peer: Peer) -> None:
        await peer.request()
        body = gzip.compress(b"hello")
        await peer.send(OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % (len(body) + more) + body)
        for _ in range(more // 65536):
            await peer.send(b"x" * 65536)
        await peer.gone()

    async with RawServer(talk) as server:
        reply = await send("GET", server.url, headers={}, timeout=5)
        tracemalloc.start()
        try:
            assert await reply.read(limits.UNPACK_BYTES, 20) == b"hello"
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()
        await reply.aclose()
    await close_clients()
