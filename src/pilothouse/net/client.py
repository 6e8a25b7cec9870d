"""The HTTP client that everything shares: made when first needed, one per event loop.

Redirects are never followed, so a key never travels to another origin than the one it was given for.
Loopback addresses are reached directly, whatever proxy the environment names.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, Mapping
from typing import Literal
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx2

from pilothouse.net.compression import plain_bytes
from pilothouse.net.errors import NetError, reason
from pilothouse.net.watch import Watch
from pilothouse.types import limits
from pilothouse.types.origins import is_loopback_host

# At INFO and below these write addresses, and an address may carry a token.
for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

# Whether the client goes direct, and whether it can speak TLS: loading the trusted roots takes 0.1 s.
_Kind = tuple[bool, bool]
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[_Kind, httpx2.AsyncClient]] = WeakKeyDictionary()


class Reply:
    """An answer whose body is still on its way; it must be closed."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._bytes: AsyncGenerator[bytes, None] = plain_bytes(response)
        self._watch = Watch()
        self.status = response.status_code

    def header(self, name: str) -> str:
        """Return a header's value, empty when it is absent."""
        return str(self._response.headers.get(name, ""))

    @property
    def headers(self) -> dict[str, str]:
        """Return all headers, names in lower case."""
        return {name.lower(): value for name, value in self._response.headers.items()}

    async def chunk(self, timeout: float | None) -> bytes | None:
        """Return the next bytes of the body, or None at its end."""
        if timeout is not None:
            self._watch.begin(timeout)
        try:
            return await anext(self._bytes, None)
        except asyncio.CancelledError:
            if timeout is None or not self._watch.expired():
                raise
            raise NetError("silent", f"nothing came for {timeout:g} s", sent=True) from None
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise NetError("broken", reason(error), sent=True) from None
        finally:
            self._watch.end()

    async def read(self, limit: int, timeout: float | None) -> bytes:
        """Return the body's first `limit` bytes; what a server sends beyond is not read."""
        parts: list[bytes] = []
        size = 0
        while size < limit and (more := await self.chunk(timeout)) is not None:
            parts.append(more)
            size += len(more)
        return b"".join(parts)[:limit]

    async def aclose(self) -> None:
        """Close the connection, at once if the body is not at its end."""
        self._watch.stop()
        await self._bytes.aclose()
        await self._response.aclose()


async def send(
    method: Method,
    url: str,
    *,
    headers: Mapping[str, str],
    content: bytes | None = None,
    timeout: float,
) -> Reply:
    """Send a request and return its reply once the headers are there; raise NetError otherwise."""
    try:
        client = _client(url)
        request = client.build_request(method, url, headers={"accept-encoding": "identity", **headers}, content=content)
    except (httpx2.InvalidURL, ValueError):
        raise NetError("url", "the address or a header is not valid") from None
    try:
        async with asyncio.timeout(timeout):
            return Reply(await client.send(request, stream=True, follow_redirects=False))
    except TimeoutError:
        raise NetError("silent", f"nothing came for {timeout:g} s") from None
    except (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.InvalidURL):
        raise NetError("url", "the address or a header is not valid") from None
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
        raise NetError("unreachable", reason(error)) from None
    except httpx2.HTTPError as error:
        raise NetError("broken", reason(error)) from None


class Fetched:
    """A small answer, read whole; names of headers are in lower case."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.body = body
        self.headers = headers or {}


async def fetch(url: str, *, headers: Mapping[str, str] | None = None, timeout: float, limit: int) -> Fetched:
    """Get a small document within `timeout` and `limit` bytes; raise NetError otherwise."""
    try:
        async with asyncio.timeout(timeout):
            reply = await send("GET", url, headers=headers or {}, timeout=timeout)
            try:
                body = await reply.read(limit + 1, timeout)
            finally:
                await reply.aclose()
    except TimeoutError:
        raise NetError("silent", f"nothing came for {timeout:g} s") from None
    if len(body) > limit:
        raise NetError("broken", f"it sent more than {limit // 1024} KB")
    return Fetched(reply.status, body, reply.headers)


async def close_clients() -> None:
    """Close the connections of this event loop; the next request makes new ones."""
    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        await client.aclose()


def _client(url: str) -> httpx2.AsyncClient:
    parts = urlsplit(url)
    # Reading the port checks its range, which nothing below does.
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError("not an address")
    direct = is_loopback_host(parts.hostname)
    kind = (direct, parts.scheme != "http" or not direct)
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if kind not in clients:
        clients[kind] = _new_client(*kind)
    return clients[kind]


def _new_client(direct: bool, tls: bool) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        # Without roots nothing is trusted, so the cheap context fails closed.
        verify=True if tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        trust_env=not direct,
        follow_redirects=False,
        timeout=httpx2.Timeout(None, connect=limits.CONNECT_TIMEOUT, write=limits.SILENCE_TIMEOUT),
        limits=httpx2.Limits(
            max_connections=limits.HTTP_CONNECTIONS,
            max_keepalive_connections=limits.HTTP_SPARE_CONNECTIONS,
            keepalive_expiry=limits.HTTP_SPARE_SECONDS,
        ),
    )
