"""Connections that are used again, and those that are not."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from pilothouse.net import dialing
from pilothouse.net.addresses import Place
from pilothouse.net.errors import NetError
from pilothouse.net.pool import Pool, PooledSource
from pilothouse.net.request import target_of
from pilothouse.types import limits
from tests.net.answers import CHUNKED, EMPTY, OK, REQUEST, until, whole
from tests.support import leaks
from tests.support.certificates import SelfSigned
from tests.support.ports import free_port
from tests.support.raw_server import Peer, RawServer, answer_each
from tests.support.waiting import PATIENCE

HELLO = whole(b"hello")


def place(server: RawServer) -> Place:
    """Return where a server is."""
    return target_of(server.url).place


async def body(source: PooledSource) -> bytes:
    """Return a whole body, and give the connection back."""
    async with asyncio.timeout(PATIENCE):
        read = b""
        while (piece := await source.chunk()) is not None:
            read += piece
        await source.aclose()
    return read


async def always(peer: Peer) -> None:
    """Answer every request."""
    while await peer.request():
        await peer.send(HELLO)


async def test_a_connection_is_used_again_after_a_whole_body() -> None:
    pool = Pool()
    async with RawServer(always) as server:
        for _ in range(5):
            assert await body(await pool.ask(place(server), REQUEST)) == b"hello"
        assert server.connections == 1
        pool.close()
        await server.until(open=0)


async def test_two_at_once_get_two_connections_and_the_newest_is_used_first() -> None:
    pool = Pool()
    async with RawServer(always) as server:
        first, second = await pool.ask(place(server), REQUEST), await pool.ask(place(server), REQUEST)
        assert await body(second) == await body(first) == b"hello"
        newest = pool._spare[place(server)][-1][1]
        third = await pool.ask(place(server), REQUEST)
        assert third._connection is newest
        assert await body(third) == b"hello"
        assert server.connections == 2
        pool.close()


async def test_connections_of_two_servers_are_not_mixed_up() -> None:
    pool = Pool()
    async with RawServer(always) as one, RawServer(answer_each(whole(b"other"))) as other:
        assert await body(await pool.ask(place(one), REQUEST)) == b"hello"
        assert await body(await pool.ask(place(other), REQUEST)) == b"other"
        pool.close()


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"connection: close\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        HELLO + HELLO,
        HELLO + OK,
    ],
)
async def test_a_connection_in_doubt_is_closed_and_the_next_request_gets_a_new_one(answer: bytes) -> None:
    pool = Pool()
    async with RawServer(answer_each(answer, answer)) as server:
        for _ in range(3):
            assert await body(await pool.ask(place(server), REQUEST)) == b"hello"
            await server.until(open=0)
        assert server.connections == 3


@pytest.mark.parametrize("answer", [CHUNKED + b"5\r\nhello\r\n", whole(b"hello")[:-1], OK + b"\r\nhello"])
async def test_a_body_that_was_not_read_to_its_end_closes_its_connection(answer: bytes) -> None:
    pool = Pool()
    async with RawServer(answer_each(answer)) as server:
        source = await pool.ask(place(server), REQUEST)
        assert await source.chunk()
        await source.aclose()
        await source.aclose()
        await server.until(open=0)
        assert not pool._spares


async def test_a_whole_body_that_nobody_read_is_not_taken_for_the_next_one() -> None:
    pool = Pool()
    async with RawServer(always) as server:
        source = await pool.ask(place(server), REQUEST)
        connection = source._connection
        assert connection
        await until(lambda: connection._pieces)
        await source.aclose()
        await server.until(open=0)
        assert await body(await pool.ask(place(server), REQUEST)) == b"hello"
        pool.close()


async def test_what_was_given_back_reads_nobody_elses_answer() -> None:
    pool = Pool()
    async with RawServer(always) as server:
        first = await pool.ask(place(server), REQUEST)
        assert await body(first) == b"hello"
        second = await pool.ask(place(server), REQUEST)
        with pytest.raises(NetError, match="left") as caught:
            await first.chunk()
        assert caught.value.problem == "broken"
        await first.aclose()
        assert await body(second) == b"hello"
        assert server.connections == 1
        pool.close()


@pytest.mark.parametrize("last_words", [b"", b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"])
async def test_a_spare_connection_that_the_server_ended_is_not_used(last_words: bytes) -> None:
    enough = asyncio.Event()

    async def talk(peer: Peer) -> None:
        await peer.request()
        await peer.send(HELLO)
        await enough.wait()
        await peer.send(last_words)

    pool = Pool()
    async with RawServer(talk) as server:
        assert await body(await pool.ask(place(server), REQUEST)) == b"hello"
        enough.set()
        await server.until(open=0)
        assert await body(await pool.ask(place(server), REQUEST)) == b"hello"
        assert server.connections == 2
        pool.close()


async def test_an_encrypted_spare_connection_is_used_again_until_its_server_ends_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = SelfSigned(tmp_path)
    monkeypatch.setattr(dialing, "roots", lambda: ssl.create_default_context(cafile=own.path))
    enough = asyncio.Event()

    async def talk(peer: Peer) -> None:
        for _ in range(2):
            await peer.request()
            await peer.send(HELLO)
        await enough.wait()

    pool = Pool()
    async with RawServer(talk, tls=own.server()) as server:
        for _ in range(2):
            assert await body(await pool.ask(place(server), REQUEST)) == b"hello"
        assert server.connections == 1
        enough.set()
        await server.until(open=0)
        assert await body(await pool.ask(place(server), REQUEST)) == b"hello"
        assert server.connections == 2
        pool.close()
        await server.until(open=0)


@pytest.mark.parametrize("last_words", [b"", HELLO])
async def test_an_end_that_the_loop_has_not_noticed_is_noticed(last_words: bytes) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(5)
    there = Place("http", "127.0.0.1", listening.getsockname()[1])
    loop = asyncio.get_running_loop()
    pool = Pool()

    def serve() -> socket.socket:
        accepted, _ = listening.accept()
        accepted.settimeout(5)
        accepted.recv(1000)
        accepted.sendall(HELLO)
        return accepted

    with listening:
        serving = loop.run_in_executor(None, serve)
        assert await body(await pool.ask(there, REQUEST)) == b"hello"
        with await serving as server:
            # From here to the next request the loop does not get to look at anything.
            server.sendall(last_words)
            server.shutdown(socket.SHUT_WR)
            serving = loop.run_in_executor(None, serve)
            assert await body(await pool.ask(there, REQUEST)) == b"hello"
            (await serving).close()
    pool.close()


async def test_spare_connections_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP_SPARE_CONNECTIONS", 2)
    pool = Pool()
    async with RawServer(always) as server:
        sources = [await pool.ask(place(server), REQUEST) for _ in range(4)]
        for source in sources:
            assert await body(source) == b"hello"
        await server.until(open=2)
        assert pool._spares == 2
        assert await body(await pool.ask(place(server), REQUEST)) == b"hello"
        assert server.connections == 4
        pool.close()
        await server.until(open=0)


async def test_a_spare_connection_is_closed_when_nobody_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP_SPARE_SECONDS", 0.05)
    pool = Pool()
    async with RawServer(always) as one, RawServer(always) as other:
        for server in (one, other):
            assert await body(await pool.ask(place(server), REQUEST)) == b"hello"
        await one.until(open=0)
        await other.until(open=0)
        assert (pool._spares, pool._spare, pool._sweeper) == (0, {}, None)
        assert await body(await pool.ask(place(one), REQUEST)) == b"hello"
        assert one.connections == 2
        await one.until(open=0)


async def test_only_what_nobody_used_for_long_is_closed() -> None:
    pool = Pool()
    async with RawServer(always) as server:
        for source in [await pool.ask(place(server), REQUEST) for _ in range(2)]:
            assert await body(source) == b"hello"
        line = pool._spare[place(server)]
        # As if its time had passed.
        line[0] = (line[0][0] - limits.HTTP_SPARE_SECONDS, line[0][1])
        pool._sweep()
        await server.until(open=1)
        assert pool._spares == 1
        assert pool._sweeper
        assert await body(await pool.ask(place(server), REQUEST)) == b"hello"
        assert server.connections == 2
        pool.close()


async def test_one_more_than_there_may_be_waits_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP_CONNECTIONS", 2)
    pool = Pool()
    async with RawServer(always) as server:
        sources = [await pool.ask(place(server), REQUEST) for _ in range(2)]
        waiting = [asyncio.create_task(pool.ask(place(server), REQUEST)) for _ in range(2)]
        await until(lambda: pool._room._waiters and len(pool._room._waiters) == 2)
        waiting[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting[0]
        assert not waiting[1].done()
        assert await body(sources[0]) == b"hello"
        assert await body(await waiting[1]) == b"hello"
        assert await body(sources[1]) == b"hello"
        assert server.connections <= 3
        # As much room as before.
        sources = [await pool.ask(place(server), REQUEST) for _ in range(2)]
        for source in sources:
            await body(source)
        pool.close()


async def test_a_request_that_fails_leaves_its_room_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP_CONNECTIONS", 1)
    pool = Pool()
    nobody = Place("http", "127.0.0.1", free_port())
    for _ in range(3):
        with pytest.raises(NetError) as caught:
            await pool.ask(nobody, REQUEST)
        assert caught.value.problem == "unreachable"
    async with RawServer(answer_each(b"nonsense\r\n\r\n")) as server:
        for _ in range(3):
            with pytest.raises(NetError, match="not HTTP"):
                await pool.ask(place(server), REQUEST)
        await server.until(connections=3, open=0)
    assert not pool._at_work


# --- cancelled ---


async def test_being_cancelled_while_connecting_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool()
    looking = asyncio.Event()

    async def lookup(*_: object, **__: object) -> object:
        looking.set()
        return await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", lookup)
    before = leaks.tasks()
    asking = asyncio.create_task(pool.ask(Place("http", "model.example", 80), REQUEST))
    await looking.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert pool._room._value == limits.HTTP_CONNECTIONS
    assert not pool._at_work
    assert not await leaks.tasks_left(before)


@pytest.mark.parametrize("answer", [b"", OK + b"content-length: 5\r\n\r\n", CHUNKED + b"5\r\nhello\r\n"])
async def test_being_cancelled_while_an_answer_comes_closes_its_connection(answer: bytes) -> None:
    pool = Pool()
    async with RawServer(answer_each(answer)) as server:

        async def all_of_it() -> None:
            source = await pool.ask(place(server), REQUEST)
            try:
                while await source.chunk() is not None:
                    pass
            finally:
                await source.aclose()

        asking = asyncio.create_task(all_of_it())
        await until(lambda: any(one._waiter and bool(one.status) == bool(answer) for one in pool._at_work))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await server.until(connections=1, open=0)
    assert pool._room._value == limits.HTTP_CONNECTIONS
    assert not pool._at_work
    assert not pool._spares


# --- closed ---


@pytest.mark.parametrize("answer", [b"", OK + b"content-length: 5\r\n\r\n", OK + b"\r\n", CHUNKED + b"5\r\nhello\r\n"])
async def test_closing_breaks_off_the_answers_that_are_under_way(answer: bytes) -> None:
    pool = Pool()
    async with RawServer(answer_each(answer)) as server:

        async def all_of_it() -> bytes:
            return await body(await pool.ask(place(server), REQUEST))

        reading = asyncio.create_task(all_of_it())
        await until(lambda: any(one._waiter and bool(one.status) == bool(answer) for one in pool._at_work))
        pool.close()
        pool.close()
        with pytest.raises(NetError, match="was ended") as caught:
            await reading
        assert (caught.value.problem, caught.value.sent) == ("broken", True)
        await server.until(open=0)


async def test_a_reader_that_comes_after_the_end_of_all_is_told() -> None:
    pool = Pool()
    async with RawServer(answer_each(CHUNKED + b"5\r\nhello\r\n")) as server:
        source = await pool.ask(place(server), REQUEST)
        await until(lambda: source._connection and source._connection._pieces)
        pool.close()
        # What is there may still be read; it is not taken for all there is.
        assert await source.chunk() == b"hello"
        with pytest.raises(NetError, match="was ended"):
            await source.chunk()
        await source.aclose()
        await source.aclose()
        await server.until(open=0)


async def test_a_request_that_is_connecting_when_all_is_closed_does_not_go_out() -> None:
    pool = Pool()
    asked = asyncio.Event()

    async def talk(peer: Peer) -> None:
        await peer.request()
        asked.set()

    async with RawServer(talk) as server:
        asking = asyncio.create_task(pool.ask(place(server), REQUEST))
        await asyncio.sleep(0)
        pool.close()
        with pytest.raises(NetError, match="were closed") as caught:
            await asking
        assert not caught.value.sent
        await server.until(open=0)
        with pytest.raises(NetError, match="were closed"):
            await pool.ask(place(server), REQUEST)
    assert not asked.is_set()
    assert (pool._spares, pool._at_work, pool._sweeper) == (0, set(), None)


async def test_an_answer_that_is_given_back_when_all_is_closed_is_not_kept() -> None:
    pool = Pool()
    async with RawServer(answer_each(EMPTY)) as server:
        source = await pool.ask(place(server), REQUEST)
        pool.close()
        assert await body(source) == b""
        assert (pool._spares, pool._sweeper) == (0, None)
        await server.until(open=0)
