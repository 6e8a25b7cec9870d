"""Where a browser comes back to after a sign-in that began in a terminal: a listener on this machine alone."""

from __future__ import annotations

import asyncio
import errno
import hmac
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.sign_ins import SIGN_IN_CALLBACK, answer_of

_LOOPBACK = "127.0.0.1"
_HEADERS = (
    "Content-Type: text/html; charset=utf-8\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nConnection: close\r\n\r\n"
)


def _page(status: str, sentence: str) -> bytes:
    """Return what the browser shows: nothing of what it brought along."""
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Pilothouse</title>'
        f'<body style="font:1rem system-ui;margin:3rem"><p>{sentence}'
    )
    return f"HTTP/1.1 {status}\r\n{_HEADERS}{page}".encode()


_TAKEN = _page("200 OK", "Back to Pilothouse: the terminal says how it went. You can close this tab.")
_NOT_OURS = _page(
    "400 Bad Request",
    "This is not the answer that Pilothouse waits for; it goes on waiting. Sign in at the address that the terminal "
    "shows.",
)
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n"


class Listener(NamedTuple):
    """The address to come back to, the state that the answer must have once it is known, and the answer."""

    address: str
    expected: asyncio.Future[str]
    arrived: asyncio.Future[str]


def is_answer(address: str, state: str) -> bool:
    """Return whether an address is what a browser is sent back to by the sign-in of this state."""
    return hmac.compare_digest(answer_of(address).get("state", "").encode(), state.encode())


def come_back_to(port: int) -> str:
    """Return the address that an issuer sends the browser back to."""
    return f"http://{_LOOPBACK}:{port}{SIGN_IN_CALLBACK}"


def _cannot_listen(port: int, error: OSError) -> PilothouseError:
    if error.errno == errno.EADDRINUSE:
        fix = "Stop that program, or sign in with another --port that the issuer knows."
        return PilothouseError("port_taken", f"Port {port} is taken by another program.", fix=fix)
    reason = os.strerror(error.errno).lower() if error.errno else "the system does not say why"
    message = f"Pilothouse cannot listen on port {port} of this machine: {reason}."
    return PilothouseError("bad_request", message, fix="Sign in with another --port, or without one.")


@asynccontextmanager
async def listening(port: int = 0) -> AsyncIterator[Listener]:
    """Listen until the answer is there; every program of this machine can send one, so others are not taken for it.

    Without a port the system chooses one, another each time.
    """
    loop = asyncio.get_running_loop()
    expected: asyncio.Future[str] = loop.create_future()
    arrived: asyncio.Future[str] = loop.create_future()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(limits.SIGN_IN_REQUEST):
                line = (await reader.readline()).decode("latin-1").split(" ")
                path = line[1] if len(line) == 3 and line[0] == "GET" else ""
                if path.partition("?")[0] != SIGN_IN_CALLBACK:
                    writer.write(_NOT_FOUND)
                elif not is_answer(path, await asyncio.shield(expected)):
                    writer.write(_NOT_OURS)
                else:
                    writer.write(_TAKEN)
                    if not arrived.done():
                        arrived.set_result(path)
                await writer.drain()
        except (TimeoutError, ValueError, ConnectionError):
            # Not a browser; whoever it was may come again.
            return
        finally:
            writer.close()

    try:
        server = await asyncio.start_server(handle, _LOOPBACK, port, limit=limits.SIGN_IN_REQUEST_BYTES)
    except OSError as error:
        raise _cannot_listen(port, error) from None
    try:
        yield Listener(come_back_to(server.sockets[0].getsockname()[1]), expected, arrived)
    finally:
        server.close()
