"""Streamable HTTP: every message is a POST, its answer JSON or a stream of events.

In the handshake era there may be a session, and a stream for what the server says by itself; both begin with
`initialize`. Without it nothing of that happens, which is the modern era.
A fault of the network fails the request it hits and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from pilothouse.mcp.client.channel import ChannelError, Garbage, Outgoing, RequestId
from pilothouse.mcp.client.transports.arrivals import answers, arrivals_in_steps
from pilothouse.mcp.client.transports.problems import from_net, looks_like_a_page
from pilothouse.mcp.client.transports.remote import Target
from pilothouse.mcp.client.transports.requests import HttpChannel, Requests
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Reply
from pilothouse.net.sse import Event, Events
from pilothouse.types import limits

log = logging.getLogger("pilothouse.mcp")

_SESSION = "mcp-session-id"
_VERSION = "mcp-protocol-version"
_POST = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
# Worth another try later.
_PASSING = {429, 502, 503, 504}
# Never the answer to a request, whatever stands in the body.
_AT_THE_DOOR = {401, 403, *_PASSING}


def _is_final(error: ChannelError | None) -> bool:
    """Return whether trying again would meet the same answer."""
    return error is not None and error.status is not None and error.status not in _PASSING


class _Stream:
    """A stream of events, across the connections it is taken up on."""

    def __init__(self, request_id: RequestId | None = None) -> None:
        # The request whose answer ends it; None for the stream of what the server says by itself.
        self.request_id = request_id
        self.answered = False
        self.last_id = ""
        self._retry = limits.STREAM_RETRY_FIRST
        self._fruitless = 0

    def note(self, event: Event) -> None:
        """Remember from where and when to go on."""
        self._fruitless = 0
        self.last_id = event.id or self.last_id
        if event.retry is not None:
            self._retry = min(max(event.retry, limits.STREAM_RETRY_MIN), limits.STREAM_RETRY_MAX)

    def wait(self) -> float:
        """Return how long to wait before the next connection: longer each time that one brought nothing."""
        wait = self._retry * (1 << min(self._fruitless, 10))
        self._fruitless += 1
        return min(wait, limits.STREAM_RETRY_MAX)

    @property
    def given_up(self) -> bool:
        """Return whether it was tried often enough."""
        return self._fruitless >= limits.STREAM_RETRIES


class StreamableHttp(HttpChannel):
    """A server at one address."""

    def __init__(self, target: Target) -> None:
        super().__init__(target, "streamable")
        self._handshake = False
        self._session = ""
        self._version: dict[str, str] = {}

    async def send(self, message: Outgoing) -> None:
        """Send a request in a task of its own; anything else has been sent when this returns."""
        if self._closed.done():
            raise ChannelError("The connection is closed.", sent=False)
        if message.method == "initialize":
            self._handshake = True
            self._session = ""
            self._version = {}
        elif version := {name: value for name, value in message.headers.items() if name.lower() == _VERSION}:
            self._version = version
        if message.id is not None:
            self._begin(message, message.id)
        # In the modern era closing the response is how a request is cancelled.
        elif self._handshake or message.method != "notifications/cancelled":
            await self._tell(message)

    async def _say_goodbye(self, requests: Requests) -> None:
        if not self._session or self._closed.done():
            return
        try:
            reply = await requests.send("DELETE", self._target.url, self._headers({}), timeout=limits.MCP_GOODBYE)
            await reply.aclose()
        except ChannelError as error:
            log.debug("the session was not ended: %s", error.message)

    def _headers(self, own: Mapping[str, str]) -> dict[str, str]:
        session = {_SESSION: self._session} if self._session else {}
        return {**session, **self._version, **own}

    async def _tell(self, message: Outgoing) -> None:
        headers = self._headers({**message.headers, **_POST})
        reply = await self._requests.send("POST", self._target.url, headers, message.body, limits.MCP_TELL_TIMEOUT)
        try:
            if reply.status >= 300:
                body = await self._requests.body(reply, limits.ERROR_BODY_BYTES)
                raise self._session_ended(reply, body) or self._requests.means(reply, body)
            await self._requests.finish(reply)
        finally:
            await reply.aclose()
        if message.method == "notifications/initialized" and self._listening is None:
            self._listening = asyncio.create_task(self._listen())

    async def _exchange(self, message: Outgoing, request_id: RequestId) -> None:
        headers = self._headers({**message.headers, **_POST})
        reply = await self._requests.send("POST", self._target.url, headers, message.body)
        stream = _Stream(request_id)
        try:
            if message.method == "initialize" and reply.status < 300:
                self._session = reply.header(_SESSION)
            if "event-stream" in reply.header("content-type").lower() and reply.status < 300:
                broke = await self._read(reply, stream)
            else:
                await self._whole(reply, request_id)
                return
        finally:
            await reply.aclose()
        while not stream.answered:
            if not self._can_resume(stream) or _is_final(broke):
                raise self._unfinished(broke)
            await asyncio.sleep(stream.wait())
            broke = await self._follow(stream)

    def _can_resume(self, stream: _Stream) -> bool:
        return self._handshake and bool(stream.last_id) and not stream.given_up and not self._closed.done()

    def _unfinished(self, broke: ChannelError | None) -> ChannelError:
        """Return the failure of a request that had been taken, whatever became of the attempts to hear the answer."""
        if broke is not None and broke.status is None:
            return ChannelError(broke.message, fix=broke.fix)
        return ChannelError(f"{self._host} ended its answer before it was complete.", fix="Try again.")

    async def _whole(self, reply: Reply, request_id: RequestId) -> None:
        """Deliver an answer that is no stream; a JSON-RPC error is one whatever the status beside it."""
        if reply.status in _AT_THE_DOOR:
            raise await self._requests.failure(reply)
        most = self._target.longest
        body = await self._requests.body(reply, most + 1, timeout=None)
        if len(body) > most:
            error = NetError("large", f"an answer of more than {most >> 20} MB", sent=True)
            raise await from_net(error, self._target.url)
        if lost := self._session_ended(reply, body):
            raise lost
        found = await arrivals_in_steps(body, request_id)
        strange = isinstance(found[0], Garbage)
        if strange and (reply.status != 200 or not body.strip() or looks_like_a_page(reply.headers, body)):
            raise self._requests.means(reply, body)
        for arrived in found:
            self._deliver(arrived)

    async def _read(self, reply: Reply, stream: _Stream) -> ChannelError | None:
        """Deliver what a connection brings of a stream, until it ends; return why it broke, if it did."""
        events = Events(self._target.longest)
        try:
            while not stream.answered and (chunk := await self._requests.chunk(reply)) is not None:
                async for event in events.feed_in_steps(chunk):
                    await self._take(stream, event)
        except NetError as error:
            raise await from_net(error, self._target.url) from None
        except ChannelError as error:
            return error
        if stream.answered:
            await self._requests.finish(reply)
        else:
            for event in events.rest():
                await self._take(stream, event)
        return None

    async def _take(self, stream: _Stream, event: Event) -> None:
        log.debug("event %r: %s", event.name, event.data[:200])
        stream.note(event)
        # An empty event only brings an id to go on from.
        if event.name not in ("", "message") or not event.data.strip():
            return
        for arrived in await arrivals_in_steps(event.data, stream.request_id):
            # Rubbish among the events need not be the answer, which may follow.
            self._deliver(Garbage(arrived.text, arrived.why) if isinstance(arrived, Garbage) else arrived)
            stream.answered |= answers(arrived, stream.request_id)

    async def _follow(self, stream: _Stream) -> ChannelError | None:
        """Take a stream up on another connection; return why that failed, or why it broke, if it did."""
        headers = {"accept": "text/event-stream", **({"last-event-id": stream.last_id} if stream.last_id else {})}
        try:
            reply = await self._requests.send("GET", self._target.url, self._headers(headers))
        except ChannelError as error:
            return error
        try:
            if reply.status == 200 and "event-stream" in reply.header("content-type").lower():
                return await self._read(reply, stream)
            body = await self._requests.body(reply, limits.ERROR_BODY_BYTES)
            return self._session_ended(reply, body) or self._requests.means(reply, body)
        finally:
            await reply.aclose()

    async def _listen(self) -> None:
        """Deliver what the server says by itself, for as long as it offers a stream for that."""
        stream = _Stream()
        while not self._closed.done():
            try:
                error = await self._follow(stream)
            except ChannelError as broken:
                error = broken
            if _is_final(error):
                log.debug("no stream for what the server says by itself: %s", error)
                return
            await asyncio.sleep(stream.wait())

    def _session_ended(self, reply: Reply, body: bytes) -> ChannelError | None:
        """Return the end of everything when the server does not know our session any more.

        It carries no status: the address is right, and connecting again helps.
        """
        if not self._session or reply.status not in (400, 404):
            return None
        # Not all servers know the status for it.
        if reply.status == 400 and b"session" not in body[: limits.ERROR_BODY_BYTES].lower():
            return None
        error = ChannelError(f"{self._host} has ended the session.", fix="Connect again.", sent=False)
        self._end(error)
        for task in self._take_tasks():
            if task is not asyncio.current_task():
                task.cancel()
        return error
