"""What the two transports over HTTP share: requests to a server's addresses, each message in a task of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping

from pilothouse.mcp.client.channel import ChannelError, Deliver, Outgoing, Refusal, RequestId, Undeliverable
from pilothouse.mcp.client.transports.problems import from_net, from_status
from pilothouse.mcp.client.transports.remote import RemoteChannel, Target
from pilothouse.net.addresses import place_of
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Method, Reply
from pilothouse.net.server_client import ServerClient
from pilothouse.types import limits
from pilothouse.types.servers import Wire

log = logging.getLogger("pilothouse.mcp")


class Requests:
    """Sends requests to one server; it must be closed."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._client = ServerClient(target.url, certificate=target.certificate)

    def is_home(self, url: str) -> bool:
        return self._client.is_home(url)

    async def send(
        self,
        method: Method,
        url: str,
        headers: Mapping[str, str],
        content: bytes | None = None,
        timeout: float | None = None,
    ) -> Reply:
        """Return the reply once its headers are there, whatever its status; raise a ChannelError otherwise."""
        for attempt in range(1, limits.ACCESS_ROUNDS + 1):
            granted = await self._granted(url)
            sending = {**self._target.headers, **granted, **headers}
            log.debug("%s to %s://%s:%d with headers %s", method, *place_of(url)[:3], ", ".join(sorted(sending)))
            try:
                reply = await self._client.send(method, url, headers=sending, content=content, timeout=timeout)
            except NetError as error:
                raise await from_net(error, self._target.url) from None
            refusal = Refusal(
                status=reply.status,
                www_authenticate=reply.header("www-authenticate"),
                url=url,
                sent=granted,
                attempt=attempt,
            )
            if attempt == limits.ACCESS_ROUNDS or not await self._let_in(refusal):
                break
            await reply.aclose()
        return reply

    async def failure(self, reply: Reply) -> ChannelError:
        """Return what a reply means that is not MCP."""
        return self.means(reply, await self.body(reply, limits.ERROR_BODY_BYTES))

    def means(self, reply: Reply, body: bytes) -> ChannelError:
        """Return what a reply with this body means."""
        return from_status(reply.status, reply.headers, body, self._target.url)

    async def body(self, reply: Reply, limit: int, timeout: float | None = limits.MCP_TELL_TIMEOUT) -> bytes:
        """Return a reply's body up to a limit; raise a ChannelError when it breaks off."""
        try:
            return await reply.read(limit, timeout)
        except NetError as error:
            raise await from_net(error, self._target.url) from None

    async def chunk(self, reply: Reply) -> bytes | None:
        """Return the next bytes of a stream, None at its end; raise a ChannelError when it breaks off."""
        try:
            return await reply.chunk(None)
        except NetError as error:
            raise await from_net(error, self._target.url) from None

    async def finish(self, reply: Reply) -> None:
        """Close a reply of which nothing more is wanted; at its end the connection can be used again."""
        with contextlib.suppress(NetError, TimeoutError):
            async with asyncio.timeout(limits.REPLY_LINGER):
                await reply.read(limits.ERROR_BODY_BYTES, None)
        await reply.aclose()

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _granted(self, url: str) -> Mapping[str, str]:
        return await self._target.access.headers(url) if self._target.access else {}

    async def _let_in(self, refusal: Refusal) -> bool:
        """Return whether the request is to be sent again."""
        access = self._target.access
        return refusal.status in (401, 403) and access is not None and await access.challenged(refusal)


class HttpChannel(RemoteChannel):
    """A channel whose messages are posted, each request in a task of its own."""

    def __init__(self, target: Target, wire: Wire) -> None:
        super().__init__(target, wire)
        self._open_requests: Requests | None = None
        self._tasks: dict[RequestId, asyncio.Task[None]] = {}
        # Reads what the server says by itself.
        self._listening: asyncio.Task[None] | None = None

    async def open(self, deliver: Deliver) -> None:
        """Get ready; the first message makes the connection."""
        self._deliver = deliver
        try:
            self._open_requests = Requests(self._target)
        except NetError as error:
            raise await from_net(error, self._target.url) from None

    def abandon(self, request_id: RequestId) -> None:
        if task := self._tasks.pop(request_id, None):
            task.cancel()

    async def close(self) -> None:
        requests, self._open_requests = self._open_requests, None
        tasks = self._take_tasks()
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
            if requests is not None:
                await self._say_goodbye(requests)
        finally:
            # Close the connection also when the goodbye was cancelled.
            if requests is not None:
                await requests.aclose()
            self._end(None)

    async def _say_goodbye(self, requests: Requests) -> None:
        """Tell the server that this is the end, where the transport has words for it."""

    @property
    def _requests(self) -> Requests:
        if self._open_requests is None:
            raise ChannelError("The connection is closed.", sent=False)
        return self._open_requests

    def _take_tasks(self) -> list[asyncio.Task[None]]:
        tasks = [*self._tasks.values(), *([self._listening] if self._listening else [])]
        self._tasks.clear()
        self._listening = None
        return tasks

    def _begin(self, message: Outgoing, request_id: RequestId) -> None:
        self.abandon(request_id)
        self._tasks[request_id] = asyncio.create_task(self._request(message, request_id))

    async def _request(self, message: Outgoing, request_id: RequestId) -> None:
        try:
            await self._exchange(message, request_id)
        except ChannelError as error:
            self._deliver(Undeliverable(request_id, error))
        finally:
            if self._tasks.get(request_id) is asyncio.current_task():
                del self._tasks[request_id]

    async def _exchange(self, message: Outgoing, request_id: RequestId) -> None:
        """Send a request, and deliver what comes back on the same connection; raise a ChannelError."""
        raise NotImplementedError
