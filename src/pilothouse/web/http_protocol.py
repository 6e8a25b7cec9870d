"""HTTP/1.1 with bounds that uvicorn leaves open: how long and how large a request's head may be."""

from __future__ import annotations

import asyncio
from typing import cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pilothouse.types import limits
from pilothouse.types.api import Problem
from pilothouse.types.json import encode
from pilothouse.web.guard import NO_STORE, SECURITY_HEADERS
from pilothouse.web.open_files import client_connections


def _refusal(status: bytes, problem: Problem, *more: tuple[bytes, bytes]) -> bytes:
    body = encode(problem)
    headers = (
        *more,
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
        NO_STORE,
        *SECURITY_HEADERS,
    )
    head = b"".join(b"%s: %s\r\n" % header for header in headers)
    return b"HTTP/1.1 " + status + b"\r\n" + head + b"\r\n" + body


def _bad_request() -> bytes:
    problem = Problem(code="bad_request", message="This is not a request that the server understands.")
    return _refusal(b"400 Bad Request", problem)


def _no_room() -> bytes:
    message = "Too many clients are connected to this server at once."
    problem = Problem(code="too_many_files", message=message, fix="Close some, or try again in a moment.")
    return _refusal(b"503 Service Unavailable", problem, (b"retry-after", b"%d" % limits.RETRY_AFTER))


class BoundedHttp(HttpToolsProtocol):
    """Ends a connection whose head is too large, has too many fields, or does not arrive."""

    _in_head = True
    _head_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > client_connections():
            # Told to the newest, so that those who are here and the runs go on.
            transport.write(_no_room())
            transport.close()
            return
        self._head_timer = self.loop.call_later(limits.HEAD_TIMEOUT, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._end_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse, unless the head goes on for too long."""
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            # A field that never ends is in no callback yet; its bytes are counted here.
            self._head_bytes += len(data)
            if self._head_bytes > limits.HEAD_BYTES:
                self.send_400_response("")

    def on_message_begin(self) -> None:
        """Begin to count a head."""
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(limits.HEAD_TIMEOUT, self.transport.close)

    def on_url(self, url: bytes) -> None:
        """Count the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a field; what is raised here, the parser makes a 400 of."""
        self._count(len(name) + len(value))
        if len(self.headers) >= limits.HEAD_FIELDS:
            raise ValueError("too many header fields")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Let the request through."""
        self._end_head()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be parsed like everything else that fails: with a Problem."""
        self.transport.write(_bad_request())
        self.transport.close()

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > limits.HEAD_BYTES:
            raise ValueError("the head is too large")

    def _end_head(self) -> None:
        self._in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


HTTP_PROTOCOL = cast(type[asyncio.Protocol], BoundedHttp)
