"""The HTTP client that everything shares: made when first needed, one per event loop.

Redirects are never followed, so a key never travels to another origin than the one it was given for.
Loopback addresses are reached directly, whatever proxy the environment names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from pilothouse.net.errors import NetError
from pilothouse.net.pool import Pool
from pilothouse.net.proxies import proxy_for
from pilothouse.net.reply import Fetched, Method, Reply
from pilothouse.net.request import request_bytes, request_headers, target_of

if TYPE_CHECKING:
    from pilothouse.net.proxied import Proxied


class _Ways:
    """The ways out of one event loop: straight, and through a proxy."""

    def __init__(self) -> None:
        self.pool = Pool()
        self._proxied: Proxied | None = None

    def proxied(self) -> Proxied:
        """Return the way through a proxy; whoever has none need not wait for the library that speaks with them."""
        if self._proxied is None:
            from pilothouse.net.proxied import Proxied  # noqa: PLC0415

            self._proxied = Proxied()
        return self._proxied

    async def aclose(self) -> None:
        """Close all connections."""
        self.pool.close()
        if self._proxied is not None:
            await self._proxied.aclose()


_ways: WeakKeyDictionary[asyncio.AbstractEventLoop, _Ways] = WeakKeyDictionary()


async def send(
    method: Method,
    url: str,
    *,
    headers: Mapping[str, str],
    content: bytes | None = None,
    timeout: float,
    certificate: str = "",
) -> Reply:
    """Send a request and return its reply once the headers are there; raise NetError otherwise.

    With a certificate's fingerprint, nothing is sent to whoever has another one.
    """
    target = target_of(url)
    sending = request_headers(method, target, headers, content)
    proxy = None if certificate else proxy_for(target.url)
    try:
        async with asyncio.timeout(timeout):
            if proxy is None:
                request = request_bytes(method, target, sending, content)
                place = target.place._replace(certificate=certificate) if certificate else target.place
                return Reply(await _ways_out().pool.ask(place, request))
            return Reply(await _ways_out().proxied().ask(proxy, method, target.url, sending, content))
    except TimeoutError:
        raise NetError("silent", f"nothing came for {timeout:g} s", sent=True) from None


async def fetch(
    url: str, *, headers: Mapping[str, str] | None = None, timeout: float, limit: int, certificate: str = ""
) -> Fetched:
    """Get a small document within `timeout` and `limit` bytes; raise NetError otherwise."""
    try:
        async with asyncio.timeout(timeout):
            reply = await send("GET", url, headers=headers or {}, timeout=timeout, certificate=certificate)
            try:
                body = await reply.read(limit + 1, timeout)
            finally:
                await reply.aclose()
    except TimeoutError:
        raise NetError("silent", f"nothing came for {timeout:g} s") from None
    if len(body) > limit:
        raise NetError("broken", f"it sent more than {limit // 1024} KB")
    return Fetched(reply.status, body, reply.headers)


async def knock(url: str, timeout: float) -> NetError | None:
    """Return why nothing answers at an address, None when something does, whatever it says; no key is sent."""
    try:
        await (await send("GET", url, headers={}, timeout=timeout)).aclose()
    except NetError as error:
        return error
    return None


async def close_clients() -> None:
    """Close the connections of this event loop; the next request makes new ones."""
    ways = _ways.pop(asyncio.get_running_loop(), None)
    if ways is not None:
        await ways.aclose()


def _ways_out() -> _Ways:
    loop = asyncio.get_running_loop()
    ways = _ways.get(loop)
    if ways is None:
        ways = _ways[loop] = _Ways()
    return ways
