"""Connecting: the first address that answers, and what is told when none does."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse.net import dialing
from pilothouse.net.addresses import Place
from pilothouse.net.dialing import dial
from pilothouse.net.errors import NetError
from pilothouse.net.http_connection import HttpConnection
from pilothouse.types import limits
from tests.net.answers import EMPTY, REQUEST, got, whole
from tests.support import leaks
from tests.support.certificates import SelfSigned
from tests.support.ports import free_port
from tests.support.raw_server import Peer, RawServer, answer_each

NAME = "model.example"


def lookup(monkeypatch: pytest.MonkeyPatch, *addresses: tuple[str, int] | Exception) -> None:
    """Let a name lead to these addresses."""

    loop = asyncio.get_running_loop()
    real = loop.getaddrinfo

    async def found(host: str, port: int, **more: Any) -> Any:
        if host not in (NAME, "localhost"):
            return await real(host, port, **more)
        for one in addresses:
            if isinstance(one, Exception):
                raise one
        return [
            (socket.AF_INET6 if ":" in one[0] else socket.AF_INET, socket.SOCK_STREAM, 6, "", one)
            for one in addresses
            if not isinstance(one, Exception)
        ]

    monkeypatch.setattr(loop, "getaddrinfo", found)


@contextmanager
def black_hole() -> Iterator[tuple[str, int]]:
    """An address at which connecting neither succeeds nor fails: nobody accepts, and no more may wait for it."""
    with socket.socket() as full, socket.socket() as waiting, socket.socket() as another:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        there = full.getsockname()
        for one in (waiting, another):
            one.setblocking(False)
            one.connect_ex(there)
        yield there


@asynccontextmanager
async def dialled(place: Place) -> AsyncIterator[HttpConnection]:
    """Connect, and close the connection."""
    async with asyncio.timeout(10):
        connection = await dial(place)
    try:
        yield connection
    finally:
        connection.close()


async def failure(place: Place) -> NetError:
    """Return why no connection comes about."""
    async with asyncio.timeout(10):
        with pytest.raises(NetError) as caught:
            await dial(place)
    assert not caught.value.sent
    return caught.value


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
async def test_an_address_and_a_name_are_connected_to(host: str) -> None:
    async with (
        RawServer(answer_each(EMPTY), host=host) as server,
        dialled(Place("http", host, server.port)) as connection,
    ):
        assert (await got(connection)).is_whole
        options = connection._transport.get_extra_info("socket")
        # A request is small, and nobody wants to wait for more of it.
        assert options.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_the_next_address_is_tried_when_the_first_is_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NEXT_ADDRESS", 60.0)
    async with RawServer(answer_each(whole(b"hello"))) as server:
        dead = ("127.0.0.1", free_port())
        lookup(monkeypatch, dead, dead, ("127.0.0.1", server.port))
        # A failure is not waited for.
        async with dialled(Place("http", NAME, 80)) as connection:
            assert (await got(connection)).body == b"hello"


async def test_the_next_address_is_tried_when_the_first_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NEXT_ADDRESS", 0.02)
    before = leaks.tasks()
    async with RawServer(answer_each(whole(b"hello"))) as server:
        with black_hole() as silent:
            lookup(monkeypatch, silent, silent, ("127.0.0.1", server.port))
            async with dialled(Place("http", NAME, 80)) as connection:
                assert (await got(connection)).body == b"hello"
        await server.until(connections=1, open=0)
    assert not await leaks.tasks_left(before)


async def test_one_connection_is_kept_when_several_addresses_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NEXT_ADDRESS", 0.0)
    async with RawServer(answer_each(whole(b"hello"))) as server:
        lookup(monkeypatch, *[("127.0.0.1", server.port)] * 5)
        async with dialled(Place("http", NAME, 80)) as connection:
            assert (await got(connection)).body == b"hello"
            await server.until(open=1)


async def test_the_families_of_addresses_take_turns() -> None:
    def info(address: str) -> tuple[int, int, int, str, object]:
        return (socket.AF_INET6 if ":" in address else socket.AF_INET, 1, 6, "", (address, 80))

    found = [info(one) for one in ("::1", "::2", "::3", "127.0.0.1")]
    assert [one[4][0] for one in dialing._mixed(found)] == ["::1", "127.0.0.1", "::2", "::3"]
    assert dialing._mixed([]) == []


async def test_dead_addresses_are_told_as_what_the_first_said(monkeypatch: pytest.MonkeyPatch) -> None:
    lookup(monkeypatch, *[("127.0.0.1", free_port())] * 3)
    error = await failure(Place("http", NAME, 80))
    assert (error.problem, error.why) == ("unreachable", "nothing listens there")


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "the name is not known"),
        (OSError(101, "Network is unreachable"), "network is unreachable"),
        (UnicodeError("label too long"), "the connection failed"),
    ],
)
async def test_a_name_that_leads_nowhere_is_told(monkeypatch: pytest.MonkeyPatch, trouble: Exception, why: str) -> None:
    lookup(monkeypatch, trouble)
    error = await failure(Place("http", NAME, 80))
    assert (error.problem, error.why) == ("unreachable", why)


async def test_a_name_without_an_address_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    lookup(monkeypatch)
    error = await failure(Place("http", NAME, 80))
    assert (error.problem, error.why) == ("unreachable", "the name has no address")


async def test_a_port_on_which_nothing_listens_is_told() -> None:
    error = await failure(Place("http", "127.0.0.1", free_port()))
    assert (error.problem, error.why) == ("unreachable", "nothing listens there")


@pytest.mark.parametrize("host", [NAME, "127.0.0.1"])
async def test_a_silent_address_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setattr(limits, "CONNECT_TIMEOUT", 0.1)
    before = leaks.tasks()
    with black_hole() as silent:
        lookup(monkeypatch, silent)
        error = await failure(Place("http", host, silent[1]))
    assert (error.problem, error.why) == ("unreachable", "no answer in time")
    assert not await leaks.tasks_left(before)


async def test_being_cancelled_twice_while_connecting_leaves_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NEXT_ADDRESS", 0.0)
    before = leaks.tasks()
    with black_hole() as silent:
        lookup(monkeypatch, silent, silent, silent)
        connecting = asyncio.create_task(dial(Place("http", NAME, 80)))
        async with asyncio.timeout(5):
            while len(leaks.tasks() - before) < 4:
                await asyncio.wait([connecting], timeout=0.001)
        connecting.cancel()
        await asyncio.wait([connecting], timeout=0)
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
        assert not await leaks.tasks_left(before)


# --- encrypted ---


@pytest.fixture
def own(tmp_path: Path) -> SelfSigned:
    """A certificate for 127.0.0.1 and localhost."""
    return SelfSigned(tmp_path)


def trusting(monkeypatch: pytest.MonkeyPatch, own: SelfSigned) -> None:
    """Let the machine trust a certificate."""
    monkeypatch.setattr(dialing, "roots", lambda: ssl.create_default_context(cafile=own.path))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_certificate_that_the_machine_trusts_is_enough(
    monkeypatch: pytest.MonkeyPatch, own: SelfSigned, host: str
) -> None:
    trusting(monkeypatch, own)
    async with RawServer(answer_each(whole(b"hello"), whole(b"again")), tls=own.server()) as server:
        lookup(monkeypatch, ("127.0.0.1", server.port))
        async with dialled(Place("https", host, server.port)) as connection:
            assert (await got(connection)).body == b"hello"
            assert connection.is_spare
            assert not connection.has_news()
            assert (await got(connection)).body == b"again"
        await server.until(open=0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_certificate_that_nobody_vouches_for_is_told(
    monkeypatch: pytest.MonkeyPatch, own: SelfSigned, host: str
) -> None:
    async with RawServer(answer_each(EMPTY), tls=own.server()) as server:
        lookup(monkeypatch, ("127.0.0.1", server.port))
        error = await failure(Place("https", host, server.port))
        assert error.problem == "unreachable"
        assert error.why == "its certificate is not trusted: self-signed certificate"
        assert not server.connections


async def test_a_certificate_for_another_name_is_told(monkeypatch: pytest.MonkeyPatch, own: SelfSigned) -> None:
    trusting(monkeypatch, own)
    async with RawServer(answer_each(EMPTY), tls=own.server()) as server:
        lookup(monkeypatch, ("127.0.0.1", server.port))
        error = await failure(Place("https", NAME, server.port))
        assert error.problem == "unreachable"
        assert error.why.startswith("its certificate is not trusted: Hostname mismatch")


async def test_a_server_without_encryption_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(peer: Peer) -> None:
        await peer.reader.read(1)
        await peer.send(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        await peer.gone()

    async with RawServer(talk) as server:
        error = await failure(Place("https", "127.0.0.1", server.port))
        assert (error.problem, error.why) == ("unreachable", "it does not speak TLS as expected")
        await server.until(open=0)


async def test_an_encrypted_server_is_told_apart_from_one_without(own: SelfSigned) -> None:
    async with (
        RawServer(answer_each(EMPTY), tls=own.server()) as server,
        dialled(Place("http", "127.0.0.1", server.port)) as connection,
    ):
        assert (await got(connection)).why in ("its answer is not HTTP", "the other side closed the connection")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_handshake_that_stalls_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setattr(limits, "CONNECT_TIMEOUT", 3600.0)
    given: list[asyncio.Timeout] = []
    timeout = asyncio.timeout

    def noted(delay: float | None) -> asyncio.Timeout:
        made = timeout(delay)
        if delay == limits.CONNECT_TIMEOUT:
            given.append(made)
        return made

    async def talk(peer: Peer) -> None:
        # Now that there is a connection, the time is over.
        for one in given:
            one.reschedule(asyncio.get_running_loop().time())
        await peer.gone()

    monkeypatch.setattr(asyncio, "timeout", noted)
    async with RawServer(talk) as server:
        lookup(monkeypatch, ("127.0.0.1", server.port))
        error = await failure(Place("https", host, server.port))
        assert (error.problem, error.why) == ("unreachable", "no answer in time")
        await server.until(connections=1, open=0)


async def test_an_encrypted_answer_ends_with_its_connection(monkeypatch: pytest.MonkeyPatch, own: SelfSigned) -> None:
    async def talk(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\nhello")

    trusting(monkeypatch, own)
    async with (
        RawServer(talk, tls=own.server()) as server,
        dialled(Place("https", "127.0.0.1", server.port)) as connection,
    ):
        assert (await got(connection))[2:] == (b"hello", True, "")


async def test_an_encrypted_server_must_wait_for_a_slow_reader(
    monkeypatch: pytest.MonkeyPatch, own: SelfSigned
) -> None:
    size = 32 << 20
    full = asyncio.Event()

    async def talk(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        for _ in range(size // 65536):
            peer.writer.write(b"x" * 65536)
            if peer.writer.transport.get_write_buffer_size() > 65536:
                full.set()
            await peer.writer.drain()
        await peer.gone()

    trusting(monkeypatch, own)
    async with (
        RawServer(talk, tls=own.server()) as server,
        dialled(Place("https", "127.0.0.1", server.port)) as connection,
    ):
        await connection.ask(REQUEST)
        async with asyncio.timeout(20):
            await full.wait()
            assert connection._held < 4 << 20
            read = 0
            while (piece := await connection.chunk()) is not None:
                read += len(piece)
        assert read == size


def test_a_connection_that_fails_need_not_wait_for_a_library() -> None:
    program = f"""
import asyncio, sys
from pilothouse.net.client import fetch
from pilothouse.net.errors import NetError
try:
    asyncio.run(fetch("http://127.0.0.1:{free_port()}/", timeout=5, limit=10))
except NetError as error:
    print(error.why, sorted({{"httpx2", "httpcore2"}} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "nothing listens there []"
