"""Connecting: to the first of a name's addresses that answers, each with a head start on the next."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Any

from pilothouse.net.addresses import Place, literal
from pilothouse.net.certificates import pinned, roots
from pilothouse.net.errors import NetError, reason
from pilothouse.net.http_connection import HttpConnection
from pilothouse.types import limits

# As `getaddrinfo` gives it: family, kind, protocol, canonical name, address.
_Info = tuple[int, int, int, str, Any]


async def dial(place: Place) -> HttpConnection:
    """Return a new connection; raise NetError."""
    try:
        async with asyncio.timeout(limits.CONNECT_TIMEOUT):
            return await _connection(place)
    except (OSError, UnicodeError) as error:
        # A TimeoutError is an OSError.
        raise NetError("unreachable", reason(error)) from None


async def _connection(place: Place) -> HttpConnection:
    loop = asyncio.get_running_loop()
    context = _trusting(place) if place.scheme == "https" else None
    name = place.host if context else None
    if literal(place.host):
        _, made = await loop.create_connection(
            HttpConnection, place.host, place.port, ssl=context, server_hostname=name
        )
        return made
    found = await loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    connected = await _first_connected(_mixed(found))
    try:
        _, made = await loop.create_connection(HttpConnection, sock=connected, ssl=context, server_hostname=name)
    except BaseException:
        connected.close()
        raise
    return made


def _trusting(place: Place) -> ssl.SSLContext:
    return pinned(place.certificate) if place.certificate else roots()


def _mixed(found: Sequence[_Info]) -> list[_Info]:
    """Return the addresses with the families in turns, the system's favourite first."""
    first = [info for info in found if info[0] == found[0][0]]
    others = [info for info in found if info[0] != found[0][0]]
    return [info for info in chain.from_iterable(zip_longest(first, others)) if info is not None]


async def _first_connected(addresses: list[_Info]) -> socket.socket:
    waiting = list(addresses)
    tries: set[asyncio.Task[socket.socket]] = set()
    failed: list[BaseException] = []
    try:
        while waiting or tries:
            if waiting:
                tries.add(asyncio.create_task(_socket(waiting.pop(0))))
            await asyncio.wait(
                tries, timeout=limits.NEXT_ADDRESS if waiting else None, return_when=asyncio.FIRST_COMPLETED
            )
            for done in [task for task in tries if task.done()]:
                tries.discard(done)
                error = done.exception()
                if error is None:
                    return done.result()
                failed.append(error)
    finally:
        for task in tries:
            task.cancel()
            task.add_done_callback(_drop)
    raise failed[0] if failed else OSError(errno.EADDRNOTAVAIL, "the name has no address")


def _drop(task: asyncio.Task[socket.socket]) -> None:
    """Close what a try that is no longer wanted connected to all the same."""
    if not task.cancelled() and task.exception() is None:
        task.result().close()


async def _socket(info: _Info) -> socket.socket:
    family, kind, protocol, _, address = info
    made = socket.socket(family, kind, protocol)
    try:
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, address)
    except BaseException:
        made.close()
        raise
    return made
