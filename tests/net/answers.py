"""Answers written byte by byte, and what a connection makes of them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

from pilothouse.net.dialing import dial
from pilothouse.net.errors import NetError
from pilothouse.net.http_connection import HttpConnection
from pilothouse.net.request import target_of
from tests.support.raw_server import RawServer
from tests.support.waiting import PATIENCE

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\n"
EMPTY = OK + b"content-length: 0\r\n\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"


def whole(body: bytes) -> bytes:
    """Return an answer of a known length."""
    return OK + b"content-length: %d\r\n\r\n" % len(body) + body


class Got(NamedTuple):
    """An answer, or as much of it as came before it broke off."""

    status: int
    headers: dict[str, str]
    body: bytes
    is_whole: bool
    why: str = ""


async def got(connection: HttpConnection) -> Got:
    """Ask, and return what came."""
    body = b""
    async with asyncio.timeout(PATIENCE):
        try:
            await connection.ask(REQUEST)
            while (piece := await connection.chunk()) is not None:
                body += piece
        except NetError as error:
            if error.problem != "broken":
                raise
            return Got(connection.status, connection.headers if connection.status else {}, body, False, error.why)
    return Got(connection.status, connection.headers, body, True)


async def until(is_so: Callable[[], object]) -> None:
    """Let the loop go on until something is so."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if is_so():
                return
            await asyncio.sleep(0)


@asynccontextmanager
async def connected(server: RawServer) -> AsyncIterator[HttpConnection]:
    """Connect to a server, and close the connection."""
    connection = await dial(target_of(server.url).place)
    try:
        yield connection
    finally:
        connection.close()


async def taken_apart(slices: Iterable[bytes], *, ends: bool = False) -> Got:
    """Return what a connection makes of an answer that comes in exactly these slices, and then perhaps its end."""
    near, far = socket.socketpair()
    with far:
        _, connection = await asyncio.get_running_loop().create_connection(HttpConnection, sock=near)
        asking = asyncio.create_task(got(connection))
        # The request goes out; from then on an answer may come.
        await asyncio.get_running_loop().run_in_executor(None, far.recv, 1000)
        for data in slices:
            connection.data_received(data)
        if ends:
            far.shutdown(socket.SHUT_WR)
        answer = await asking
        connection.close()
        return answer
