"""One HTTP/1.1 connection: a request goes out, its answer comes in piece by piece, then the next request.

Every token of a model passes here; decision 0023 has what it costs, and what it cost before.
"""

from __future__ import annotations

import asyncio
import math
import re
import select
from typing import Literal, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from pilothouse.net.errors import CLOSED, NetError, reason
from pilothouse.types import limits

_ENDED = "the connection was ended before its answer was there"
_NOT_HTTP = "its answer is not HTTP"
_KEPT_FOR = re.compile(r"(?i)\btimeout=(\d{1,6})\b")


class HttpConnection(asyncio.Protocol):
    """A connection on which one answer at a time is awaited."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        # "head" and "body" are of the answer that is awaited; "idle" is before a request and after its whole answer.
        self._state: Literal["idle", "head", "body", "closed"] = "idle"
        # Set when the connection is made, before anybody gets to see it.
        self._transport: asyncio.Transport
        self._parser = HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._failure: NetError | None = None
        self._pieces: list[bytes] = []
        self._held = 0
        self._is_paused = False
        # Whether what was written is still here.
        self._is_full = False
        # Bytes of which nothing has come yet: of heads, or of lines between the pieces of a body.
        self._open_ended = 0
        self._ends_with_connection = False
        self._may_be_used_again = True
        # Whether any byte came since the request.
        self.has_heard = False

    # --- what the client does ---

    async def ask(self, head: bytes, content: bytes = b"") -> None:
        """Send a request and wait for the head of its answer, then in `status` and `headers`; raise NetError."""
        self._begin()
        await self._send(head, content)
        while self._state == "head":
            await self._wait()
        if self._failure is not None and not self.status:
            raise self._failure

    async def _send(self, head: bytes, content: bytes) -> None:
        """Write a request, a large one in pieces, each when the ones before are on their way."""
        step = limits.HTTP_SENT_BYTES
        self._transport.write(head + content[:step])
        rest = memoryview(content)[step:]
        while rest and self._state == "head":
            if self._is_full:
                await self._wait()
            else:
                self._transport.write(rest[:step])
                rest = rest[step:]
        if rest and self._state != "closed":
            # Whoever answers before the end of a request is told the rest all the same: some read on.
            self._transport.write(rest)

    async def chunk(self) -> bytes | None:
        """Return all bytes of the body that are there, None at its end; raise NetError."""
        while not self._pieces:
            if self._state != "body":
                if self._failure is not None:
                    raise self._failure
                return None
            await self._wait()
        found = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces = []
        self._held = 0
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return found

    @property
    def is_spare(self) -> bool:
        """Return whether another request may be sent now."""
        if self._state != "idle" or not self._may_be_used_again or self._pieces:
            return False
        return not self._transport.is_closing() and not self._transport.get_write_buffer_size()

    @property
    def spare_seconds(self) -> float:
        """Return for how long it may lie idle: not until the very moment at which its server said it would end it."""
        told = _KEPT_FOR.search(self.headers.get("keep-alive", ""))
        return min(limits.HTTP_SPARE_SECONDS, int(told[1]) - limits.HTTP_SPARE_MARGIN if told else math.inf)

    def has_news(self) -> bool:
        """Return whether a spare connection has something to read: its end, or what nobody asked for."""
        if not hasattr(select, "poll"):
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        """End the connection at once; whoever waits for the rest of an answer gets a NetError."""
        self._fail(_ENDED)

    def _begin(self) -> None:
        if self._state != "idle":
            # It ended, or something came unasked, before there was a request.
            raise NetError("broken", CLOSED)
        self._parser = HttpResponseParser(self)
        # Line feeds by themselves, a length beside the pieces, and padded sizes of pieces are what some gateways send.
        self._parser.set_dangerous_leniencies(
            lenient_optional_cr_before_lf=True, lenient_chunked_length=True, lenient_spaces_after_chunk_size=True
        )
        self._state = "head"
        self.status, self.headers = 0, {}
        self._open_ended = 0
        self.has_heard = False

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # --- what the transport tells ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every loop's transport says that it is one.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Take apart what came."""
        if self._state not in ("head", "body"):
            # Nobody asked: what would be taken for the next answer is none.
            self.close()
            return
        self._open_ended += len(data)
        self.has_heard = True
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self._fail(_NOT_HTTP)
        if self._open_ended > limits.HTTP_HEAD_BYTES:
            self._fail(f"it sent a head of more than {limits.HTTP_HEAD_BYTES // 1024} KB")
        if self._held > limits.HTTP_HELD_BYTES and self._state == "body" and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take the end of the connection, which is the end of some answers."""
        if self._state == "body" and self._ends_with_connection and exc is None:
            self._state = "idle"
        self._fail(reason(exc) if exc is not None else CLOSED)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        """Take it that what waited to be sent has mostly gone."""
        self._is_full = False
        self._wake()

    def _fail(self, why: str) -> None:
        """End the connection; an answer that is not whole is broken off."""
        if self._state in ("head", "body"):
            self._failure = NetError("broken", why, sent=True)
        self._state = "closed"
        self._transport.abort()
        self._wake()

    # --- what the parser tells ---

    def on_message_begin(self) -> None:
        """Take the begin of an answer; after a whole one it is a second that nobody asked for."""
        if self._state == "idle":
            self._may_be_used_again = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; those after a body say nothing that is needed."""
        if self._state == "head":
            key, text = name.decode("latin-1").lower(), value.strip().decode("latin-1")
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        """Take the end of a head."""
        if self._state != "head":
            return
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            # Only the announcement of an answer. One that goes on in another language stops the parser.
            self.headers = {}
            return
        coding = self.headers.get("transfer-encoding")
        if status < 100 or (coding is not None and coding.lower() != "chunked"):
            self._fail(_NOT_HTTP)
            return
        self.status = status
        self._state = "body"
        self._open_ended = 0
        has_length = "content-length" in self.headers
        self._ends_with_connection = coding is None and not has_length
        # Of two ends that were announced only one can be right.
        self._may_be_used_again = self._parser.should_keep_alive() and not (coding and has_length)

    def on_body(self, body: bytes) -> None:
        if self._state == "body":
            self._open_ended = 0
            self._pieces.append(body)
            self._held += len(body)

    def on_message_complete(self) -> None:
        if self._state == "body":
            self._state = "idle"
