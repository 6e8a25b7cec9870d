"""Requests to a server's addresses: with its headers, let in by its access, failures in words."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping

from pilothouse.mcp.channel import ChannelError, Refusal
from pilothouse.mcp.transports.problems import from_net, from_status
from pilothouse.mcp.transports.target import Target
from pilothouse.net.addresses import place_of
from pilothouse.net.errors import NetError
from pilothouse.net.link import Link
from pilothouse.net.reply import Method, Reply
from pilothouse.types import limits

log = logging.getLogger("pilothouse.mcp")


class Requests:
    """Sends requests to one server; it must be closed."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._link = Link(target.url, certificate=target.certificate)

    def is_home(self, url: str) -> bool:
        """Return whether an address is of this server."""
        return self._link.is_home(url)

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
                reply = await self._link.send(method, url, headers=sending, content=content, timeout=timeout)
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
        """Close all connections."""
        await self._link.aclose()

    async def _granted(self, url: str) -> Mapping[str, str]:
        return await self._target.access.headers(url) if self._target.access else {}

    async def _let_in(self, refusal: Refusal) -> bool:
        """Return whether the request is to be sent again."""
        access = self._target.access
        return refusal.status in (401, 403) and access is not None and await access.challenged(refusal)
