"""From an address to a channel: the wire that the person chose, or the first one that works.

The first request itself is the probe: it is sent over one wire after the other until a server answers it, so finding
out costs a server that speaks the first wire nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.client.channel import ChannelError, Deliver, Incoming, Outgoing, RequestId, Undeliverable
from pilothouse.mcp.client.transports.http_sse import HttpSse
from pilothouse.mcp.client.transports.problems import from_net
from pilothouse.mcp.client.transports.remote import Found, RemoteChannel, Target
from pilothouse.mcp.client.transports.streamable_http import StreamableHttp
from pilothouse.mcp.client.transports.websocket import WebSocketChannel
from pilothouse.net.addresses import place_of
from pilothouse.net.errors import NetError


def channel_to(target: Target) -> RemoteChannel:
    """Return a channel for a target, not opened yet; after its first answer `found` says what worked."""
    if target.wire == "auto" and urlsplit(target.url).scheme in ("ws", "wss"):
        return WebSocketChannel(target)
    return Searching(target) if target.wire == "auto" else _speaking(target, Found(target.wire, target.url))


def _speaking(target: Target, found: Found) -> RemoteChannel:
    target = msgspec.structs.replace(target, url=found.url)
    match found.wire:
        case "sse":
            return HttpSse(target)
        case "websocket":
            return WebSocketChannel(target)
        case _:
            return StreamableHttp(target)


def ways(target: Target) -> Iterator[Found]:
    """Yield what to try, best first: what worked before, what the path says, then from the newest wire to the oldest.

    For a bare host the usual paths follow; a gateway is preferred with events, a WebSocket comes last.
    """
    seen: set[Found] = set()
    for found in _ways(target):
        if found not in seen:
            seen.add(found)
            yield found


def _ways(target: Target) -> Iterator[Found]:
    url = target.url
    if target.remembered is not None and _same_server(target.remembered.url, url):
        yield target.remembered
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    if path.endswith("/sse"):
        yield Found("sse", url)
    if path.endswith("/ws"):
        yield Found("websocket", url)
    yield Found("streamable", url)
    yield Found("sse", url)
    if not path:
        yield Found("streamable", parts._replace(path="/mcp").geturl())
        yield Found("sse", parts._replace(path="/sse").geturl())
        yield Found("websocket", url)


def _same_server(one: str, other: str) -> bool:
    try:
        return place_of(one)[1:] == place_of(other)[1:]
    except NetError:
        return False


def is_elsewhere(error: ChannelError) -> bool:
    """Return whether a failure says that this wire is not spoken here, and not that something is wrong."""
    status = error.status
    return status == 501 or (status is not None and status < 500 and status not in (401, 403, 408, 429))


class Searching(RemoteChannel):
    """A channel that finds its wire with the first request that is answered."""

    def __init__(self, target: Target) -> None:
        super().__init__(target, "auto")
        self._channel: RemoteChannel | None = None
        self._search: tuple[RequestId, asyncio.Task[None]] | None = None

    async def open(self, deliver: Deliver) -> None:
        """Check the address; the first request makes the connection."""
        self._deliver = deliver
        try:
            place_of(self._target.url)
        except NetError as error:
            raise await from_net(error, self._target.url) from None

    async def send(self, message: Outgoing) -> None:
        """Send over the wire that works; until there is one, a request begins the search for it."""
        if self._search is not None and message.id is not None:
            await asyncio.wait((self._search[1],))
        if self._channel is not None:
            await self._channel.send(message)
        elif self._closed.done():
            raise ChannelError("The connection is closed.", sent=False)
        elif message.id is not None:
            self._search = (message.id, asyncio.create_task(self._find(message, message.id)))

    def abandon(self, request_id: RequestId) -> None:
        """Let go of a request, and of the search that it began."""
        if self._channel is not None:
            self._channel.abandon(request_id)
        elif self._search is not None and self._search[0] == request_id:
            self._search[1].cancel()

    async def close(self) -> None:
        await self._stop()
        if self._channel is not None:
            await self._channel.close()
        self._end(None)

    async def _stop(self) -> None:
        search, self._search = self._search, None
        if search is not None:
            search[1].cancel()
            await asyncio.gather(search[1], return_exceptions=True)

    async def _find(self, message: Outgoing, request_id: RequestId) -> None:
        failures: list[ChannelError] = []
        for found in ways(self._target):
            error = await self._try(found, message, request_id)
            if error is None:
                return
            failures.append(error)
            if is_elsewhere(error):
                continue
            if await self._is_socket(found, error, message, request_id):
                return
            break
        self._deliver(Undeliverable(request_id, _clearest(failures)))

    async def _is_socket(self, found: Found, error: ChannelError, message: Outgoing, request_id: RequestId) -> bool:
        """Return whether a server that hung up on a request takes it over a WebSocket; many such know nothing else."""
        # What may have been carried out is not sent again.
        if not error.dropped or found.wire != "streamable" or message.method == "tools/call":
            return False
        return await self._try(Found("websocket", found.url), message, request_id) is None

    async def _try(self, found: Found, message: Outgoing, request_id: RequestId) -> ChannelError | None:
        """Send the request over one wire; return why that is not the one, or None when an answer came."""
        channel = _speaking(self._target, found)
        first: asyncio.Future[ChannelError | None] = asyncio.get_running_loop().create_future()
        early: list[Incoming] = []

        def look(arrived: Incoming) -> None:
            if self._channel is channel:
                self._deliver(arrived)
            elif not first.done() and isinstance(arrived, Undeliverable):
                first.set_result(arrived.error)
            else:
                early.append(arrived)
                if not first.done():
                    first.set_result(None)

        try:
            await channel.open(look)
            # The other wires have shown themselves by opening.
            if found.wire != "streamable":
                self._adopt(channel, early)
                await self._hand_over(message, request_id)
                return None
            await channel.send(message)
            await asyncio.wait((first, channel.closed), return_when=asyncio.FIRST_COMPLETED)
            error = first.result() if first.done() else channel.closed.result()
        except ChannelError as failed:
            error = failed
        except asyncio.CancelledError:
            if self._channel is None:
                await channel.close()
            raise
        if error is None:
            self._adopt(channel, early)
        else:
            await channel.close()
        return error

    async def _hand_over(self, message: Outgoing, request_id: RequestId) -> None:
        try:
            await self.send(message)
        except ChannelError as error:
            self._deliver(Undeliverable(request_id, error))

    def _adopt(self, channel: RemoteChannel, early: list[Incoming]) -> None:
        self._channel = channel
        self._search = None
        self.found = channel.found
        channel.closed.add_done_callback(self._ended)
        for arrived in early:
            self._deliver(arrived)

    def _ended(self, closed: asyncio.Future[ChannelError | None]) -> None:
        if not closed.cancelled():
            self._end(closed.result())


def _clearest(failures: list[ChannelError]) -> ChannelError:
    """Return the failure to tell: a real trouble, else an answer that is something else, else the first."""
    last, answered = failures[-1], [error for error in failures if error.status is not None]
    # A server that answers over HTTP and opens no WebSocket has only shown that it is no WebSocket.
    if not is_elsewhere(last) and (last.status is not None or not answered):
        return last
    return next((error for error in answered if error.status == 200), failures[0])
