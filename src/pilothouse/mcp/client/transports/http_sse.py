"""HTTP with server-sent events, the old transport: one stream brings everything, messages are posted elsewhere.

Gateways take liberties with it: where the session is named, where messages go, how they are wrapped.
"""

from __future__ import annotations

import asyncio
import logging
import re
from urllib.parse import urljoin, urlsplit

from pilothouse.mcp.client.channel import ChannelError, Deliver, Garbage, Outgoing, RequestId
from pilothouse.mcp.client.transports.arrivals import arrivals_in_steps
from pilothouse.mcp.client.transports.problems import from_net
from pilothouse.mcp.client.transports.remote import Target
from pilothouse.mcp.client.transports.requests import HttpChannel, Requests
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Reply
from pilothouse.net.sse import BARE, Event, Events
from pilothouse.types import limits

log = logging.getLogger("pilothouse.mcp")

_POST = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_NOT_HERE = {404, 405, 410, 501}
_SESSION = re.compile(r"[?&](session_?id)=([^&#\s\"']+)", re.IGNORECASE)
# A bare line may hold more than the address: "endpoint /message?sessionId=1".
_WORD = re.compile(r"[^\s\"'<>]++")
_NAMED = re.compile(r"[?&]session_?id=.", re.IGNORECASE)
_LOOSE = re.compile(r"session_?id=[^\s\"'&]+", re.IGNORECASE)


class HttpSse(HttpChannel):
    """A server, or a gateway, at the address of its stream."""

    def __init__(self, target: Target) -> None:
        super().__init__(target, "sse")
        self._endpoint: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        # Whether the first of the addresses has taken a message.
        self._proven = False

    async def open(self, deliver: Deliver) -> None:
        """Open the stream and wait until it says where messages go."""
        await super().open(deliver)
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
        self._listening = asyncio.create_task(self._read(requests, reply))
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
        if self._closed.done():
            raise ChannelError("The connection is closed.", sent=False)
        if message.id is None:
            await self._post(self._requests, message)
        else:
            self._begin(message, message.id)

    async def close(self) -> None:
        await super().close()
        self._endpoint.cancel()

    async def _read(self, requests: Requests, reply: Reply) -> None:
        events = Events(self._target.longest)
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
        self._end(error or ChannelError(f"{self._host} ended the connection.", fix="Connect again."))

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
        if self._endpoint.done() or not endpoint:
            return
        found = candidates(self._target.url, endpoint)
        try:
            # A message carries credentials: it goes nowhere but to the server that the person named.
            home = self._requests.is_home(found[0])
        except NetError:
            home = False
        if home:
            log.debug("messages go to %s", found[0].partition("?")[0])
            self._endpoint.set_result(found)
        else:
            self._end(ChannelError(f"{self._host} wants messages sent to another server.", sent=False))

    async def _exchange(self, message: Outgoing, request_id: RequestId) -> None:
        await self._post(self._requests, message)

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
        body = await requests.body(reply, self._target.longest, timeout=None)
        parts = [body]
        if "event-stream" in reply.header("content-type").lower():
            events = Events(self._target.longest)
            found = [event async for event in events.feed_in_steps(body)]
            parts = [event.data for event in (*found, *events.rest()) if event.data.strip()]
        for part in parts:
            for arrived in await arrivals_in_steps(part, request_id):
                # "Accepted" and the like are no answer.
                if not isinstance(arrived, Garbage):
                    self._deliver(arrived)


def named_in(text: str) -> str:
    """Return the address with a session in a line of a stream, empty when there is none."""
    for word in _WORD.finditer(text):
        if _NAMED.search(word[0]):
            return word[0]
    # "sessionId=1", without the question mark.
    loose = _LOOSE.search(text)
    return f"?{loose[0]}" if loose else ""


def candidates(url: str, endpoint: str) -> list[str]:
    """Return where to send messages, best first: the address that was named, then where other gateways take them."""
    base = _base(url)
    session = _SESSION.search(endpoint)
    first = urljoin(url, endpoint)
    if endpoint.startswith("?"):
        first = f"{base}/sse{endpoint}"
    found = [first]
    if session:
        found.append(f"{base}/sse?sessionid={session[2]}")
    query = f"?sessionId={session[2]}" if session else ""
    found += [f"{base}/message{query}", f"{base}/rpc{query}", f"{base or url}{query}"]
    return list(dict.fromkeys(found))


def _base(url: str) -> str:
    parts = urlsplit(url)
    path = parts.path.rstrip("/").removesuffix("/sse")
    return parts._replace(path=path, query="", fragment="").geturl()
