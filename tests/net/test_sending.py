"""A large request: what of it is held while it goes out, and what becomes of it when the answer comes first."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Callable
from hashlib import sha256

from tests.net.answers import CHUNKED, connected, until, whole
from tests.support.raw_server import Peer, RawServer

CONTENT = b"a history" * (32 << 17)
LARGE = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(CONTENT)


async def taken(peer: Peer, take: Callable[[bytes], object]) -> None:
    """Read the content of a large request, piece by piece."""
    left = len(CONTENT)
    while left:
        piece = await peer.reader.read(1 << 16)
        left -= len(piece)
        take(piece)


async def test_an_answer_to_half_a_request_is_read_and_the_connection_not_used_again() -> None:
    refusal = b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 5\r\n\r\nlarge"

    async def talk(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await peer.send(refusal)
        await peer.gone()

    async with RawServer(talk) as server, connected(server) as connection:
        await connection.ask(LARGE, CONTENT)
        assert connection.status == 413
        assert await connection.chunk() == b"large"
        assert not connection.is_spare


async def test_a_server_that_answers_before_the_end_of_a_request_is_told_all_of_it() -> None:
    async def talk(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await peer.send(CHUNKED)
        hashed = sha256()
        await taken(peer, hashed.update)
        await peer.send(b"40\r\n" + hashed.hexdigest().encode() + b"\r\n0\r\n\r\n")
        await peer.gone()

    async with RawServer(talk) as server, connected(server) as connection:
        await connection.ask(LARGE, CONTENT)
        assert await connection.chunk() == sha256(CONTENT).hexdigest().encode()


async def test_a_large_request_is_not_held_a_second_time_while_it_is_sent() -> None:
    begin = asyncio.Event()
    seen: list[int] = []

    async def talk(peer: Peer) -> None:
        await begin.wait()
        await peer.reader.readuntil(b"\r\n\r\n")
        await taken(peer, lambda piece: seen.append(len(piece)))
        await peer.send(whole(b"hello"))
        await peer.gone()

    async with RawServer(talk) as server, connected(server) as connection:
        tracemalloc.start()
        try:
            asking = asyncio.create_task(connection.ask(LARGE, CONTENT))
            await until(lambda: connection._is_full)
            begin.set()
            await asking
            held = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert (connection.status, sum(seen)) == (200, len(CONTENT))
        assert held < len(CONTENT) / 8
