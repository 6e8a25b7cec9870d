"""The HTTP client that everything shares: made when first needed, one per event loop.

Redirects are never followed, so a key never travels to another origin than the one it was given for.
Loopback addresses are reached directly, whatever proxy the environment names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import ParamSpec

from pilothouse.net.errors import NetError
from pilothouse.net.loop_clients import clients
from pilothouse.net.proxies import proxy_for
from pilothouse.net.reply import Fetched, Method, Reply
from pilothouse.net.request import request_head, request_headers, target_of

P = ParamSpec("P")


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
                head = request_head(method, target, sending)
                place = target.place._replace(certificate=certificate) if certificate else target.place
                return Reply(await clients().pool().ask(place, head, content or b""))
            return Reply(await clients().proxy().ask(proxy, method, target.url, sending, content))
    except TimeoutError:
        raise NetError("silent", f"nothing came for {timeout:g} s", sent=True) from None


def _repeatable(ask: Callable[P, Awaitable[Reply]]) -> Callable[P, Awaitable[Reply]]:
    """Return what asks once more, on a new connection, for what a spare one lost."""

    async def asked(*args: P.args, **kwargs: P.kwargs) -> Reply:
        try:
            return await ask(*args, **kwargs)
        except NetError as error:
            if not error.stale:
                raise
        return await ask(*args, **kwargs)

    return asked


# Sends a request that does no harm if it arrives twice.
send_repeatable = _repeatable(send)


async def fetch(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    timeout: float,
    limit: int,
    certificate: str = "",
) -> Fetched:
    """Get a small document within `timeout` and `limit` bytes, or post for one; raise NetError otherwise."""
    method: Method = "GET" if content is None else "POST"
    try:
        async with asyncio.timeout(timeout):
            reply = await send_repeatable(
                method, url, headers=headers or {}, content=content, timeout=timeout, certificate=certificate
            )
            try:
                body = await reply.read(limit + 1, timeout)
            finally:
                await reply.aclose()
    except TimeoutError:
        raise NetError("silent", f"nothing came for {timeout:g} s") from None
    if len(body) > limit:
        raise NetError("large", f"it sent more than {limit // 1024} KB")
    return Fetched(reply.status, body, reply.headers)


async def knock(url: str, timeout: float) -> NetError | None:
    """Return why nothing answers at an address, None when something does, whatever it says; no key is sent."""
    try:
        await (await send("GET", url, headers={}, timeout=timeout)).aclose()
    except NetError as error:
        return error
    return None
