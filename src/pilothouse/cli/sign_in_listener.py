"""Where a browser comes back to after a sign-in that began in a terminal: a listener on this machine alone."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from pilothouse.types import limits
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


@asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    """Listen until the answer is there; every program of this machine can send one, so others are not taken for it."""
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

    server = await asyncio.start_server(handle, _LOOPBACK, 0, limit=limits.SIGN_IN_REQUEST_BYTES)
    port = server.sockets[0].getsockname()[1]
    try:
        yield Listener(f"http://{_LOOPBACK}:{port}{SIGN_IN_CALLBACK}", expected, arrived)
    finally:
        server.close()
