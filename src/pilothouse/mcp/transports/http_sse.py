"""HTTP with server-sent events, the old transport: one stream brings everything, messages are posted elsewhere.

Gateways take liberties with it: where the session is named, where messages go, how they are wrapped.
"""

from __future__ import annotations

import asyncio
import logging

from pilothouse.mcp.channel import ChannelError, Deliver, Garbage, Outgoing, RequestId, Undeliverable
from pilothouse.mcp.transports.arrivals import arrivals_in_steps
from pilothouse.mcp.transports.endpoints import candidates, named_in
from pilothouse.mcp.transports.problems import from_net
from pilothouse.mcp.transports.requests import Requests
from pilothouse.mcp.transports.target import Found, Target
from pilothouse.net.addresses import place_of
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Reply
from pilothouse.net.sse import BARE, Event, Events
from pilothouse.types import limits

log = logging.getLogger("pilothouse.mcp")

_POST = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_NOT_HERE = {404, 405, 410, 501}


class HttpSse:
    """A server, or a gateway, at the address of its stream."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.found = Found("sse", target.url)
        self._closed: asyncio.Future[ChannelError | None] = asyncio.get_running_loop().create_future()
        self._endpoint: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        # Whether the first of the addresses has taken a message.
        self._proven = False
        self._requests: Requests | None = None
        self._reading: asyncio.Task[None] | None = None
        self._tasks: dict[RequestId, asyncio.Task[None]] = {}

    @property
    def closed(self) -> asyncio.Future[ChannelError | None]:
        """Return what is done when the stream ended or was closed."""
        return self._closed

    async def open(self, deliver: Deliver) -> None:
        """Open the stream and wait until it says where messages go."""
        self._deliver = deliver
        try:
            self._requests = Requests(self._target)
        except NetError as error:
            raise await from_net(error, self._target.url) from None
        try:
            await self._connect(self._requests)
        except BaseException:
            await self.close()
            raise

    async def _connect(self, requests: Requests) -> None:
        headers = {"accept": "text/event-stream", "cache-control": "no-cache"}
        reply = await requests.send("GET", self._target.url, headers, timeout=self._target.connect_timeout)
        if reply.status != 200 or "event-stream" not in reply.header("content-type").lower():
            try:
                raise await requests.failure(reply)
            finally:
                await reply.aclose()
        self._reading = asyncio.create_task(self._read(requests, reply))
        limit = min(self._target.connect_timeout, limits.MCP_ENDPOINT_TIMEOUT)
        await asyncio.wait((self._endpoint, self._closed), timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if self._closed.done() and (error := self._closed.result()):
            raise error
        if not self._endpoint.done():
            raise ChannelError(
                f"{self._host} opened a stream but did not say where to send messages.",
                fix="Check that the address is that of an MCP server; for one over HTTP+SSE it often ends in /sse.",
                sent=False,
            )

    async def send(self, message: Outgoing) -> None:
        """Post a request in a task of its own; anything else has been posted when this returns."""
        if self._closed.done() or self._requests is None:
            raise ChannelError("The connection is closed.", sent=False)
        if message.id is None:
            await self._post(self._requests, message)
            return
        self.abandon(message.id)
        self._tasks[message.id] = asyncio.create_task(self._request(self._requests, message, message.id))

    def abandon(self, request_id: RequestId) -> None:
        """Let go of a request that is still being posted."""
        if task := self._tasks.pop(request_id, None):
            task.cancel()

    async def close(self) -> None:
        """Close the stream and everything else."""
        requests, self._requests = self._requests, None
        tasks = [*self._tasks.values(), *([self._reading] if self._reading else [])]
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if requests is not None:
            await requests.aclose()
        self._endpoint.cancel()
        if not self._closed.done():
            self._closed.set_result(None)

    @property
    def _host(self) -> str:
        return place_of(self._target.url).host

    async def _read(self, requests: Requests, reply: Reply) -> None:
        events = Events()
        error: ChannelError | None = None
        try:
            while (chunk := await requests.chunk(reply)) is not None:
                async for event in events.feed_in_steps(chunk):
                    await self._take(event)
            for event in events.rest():
                await self._take(event)
        except NetError as broken:
            error = await from_net(broken, self._target.url)
        except ChannelError as broken:
            error = broken
        finally:
            await reply.aclose()
        if not self._closed.done():
            self._closed.set_result(error or ChannelError(f"{self._host} ended the connection.", fix="Connect again."))

    async def _take(self, event: Event) -> None:
        log.debug("event %r: %s", event.name, event.data[:200])
        text = event.data.strip()
        if event.name == "endpoint":
            self._point_to(text.decode("utf-8", "replace"))
        elif event.name == BARE or (text[:1] not in (b"{", b"[", b'"') and not self._endpoint.done()):
            if named := named_in(text.decode("utf-8", "replace")):
                self._point_to(named)
        elif event.name in ("", "message") and text:
            for arrived in await arrivals_in_steps(text):
                self._deliver(arrived)

    def _point_to(self, endpoint: str) -> None:
        requests = self._requests
        if self._endpoint.done() or requests is None or not endpoint:
            return
        found = candidates(self._target.url, endpoint)
        try:
            # A message carries credentials: it goes nowhere but to the server that the person named.
            home = requests.is_home(found[0])
        except NetError:
            home = False
        if home:
            log.debug("messages go to %s", found[0].partition("?")[0])
            self._endpoint.set_result(found)
        else:
            self._end(ChannelError(f"{self._host} wants messages sent to another server.", sent=False))

    def _end(self, error: ChannelError) -> None:
        if not self._closed.done():
            self._closed.set_result(error)

    async def _request(self, requests: Requests, message: Outgoing, request_id: RequestId) -> None:
        try:
            await self._post(requests, message)
        except ChannelError as error:
            self._deliver(Undeliverable(request_id, error))
        finally:
            if self._tasks.get(request_id) is asyncio.current_task():
                del self._tasks[request_id]

    async def _post(self, requests: Requests, message: Outgoing) -> None:
        """Post to the address that works; as long as none is known, to one after the other."""
        addresses = await asyncio.shield(self._endpoint)
        timeout = None if message.id is not None else limits.MCP_TELL_TIMEOUT
        while True:
            reply = await requests.send("POST", addresses[0], {**message.headers, **_POST}, message.body, timeout)
            try:
                if reply.status in _NOT_HERE and len(addresses) > 1 and not self._proven:
                    addresses.pop(0)
                    continue
                if reply.status >= 300:
                    raise await self._refused(requests, reply)
                self._proven = True
                await self._answer(requests, reply, message.id)
                return
            finally:
                await reply.aclose()

    async def _refused(self, requests: Requests, reply: Reply) -> ChannelError:
        error = await requests.failure(reply)
        if reply.status in (404, 410) and self._proven:
            error = ChannelError(f"{self._host} has ended the session.", fix="Connect again.", sent=False)
            self._end(error)
        return error

    async def _answer(self, requests: Requests, reply: Reply, request_id: RequestId | None) -> None:
        """Deliver what came as the reply to a POST; mostly it is empty and the answer comes on the stream."""
        if request_id is None or reply.status == 202:
            await requests.finish(reply)
            return
        body = await requests.body(reply, limits.MCP_MESSAGE_BYTES, timeout=None)
        parts = [body]
        if "event-stream" in reply.header("content-type").lower():
            events = Events()
            found = [event async for event in events.feed_in_steps(body)]
            parts = [event.data for event in (*found, *events.rest()) if event.data.strip()]
        for part in parts:
            for arrived in await arrivals_in_steps(part, request_id):
                # "Accepted" and the like are no answer.
                if not isinstance(arrived, Garbage):
                    self._deliver(arrived)
