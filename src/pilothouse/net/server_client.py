"""A line to one server that the person named: long streams, its own cookies, redirects that never leave its origin."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urljoin

import httpx2

from pilothouse.net.addresses import Place, place_of
from pilothouse.net.certificates import no_tls, pinned, roots
from pilothouse.net.errors import NetError, fault
from pilothouse.net.httpx_client import HttpxSource
from pilothouse.net.proxies import proxy_for
from pilothouse.net.reply import Method, Reply
from pilothouse.types import limits

# A 303 asks for something else than what was meant to be sent.
_REDIRECTS = {301, 302, 307, 308}


def trust(place: Place, certificate: str) -> ssl.SSLContext:
    """Return whom a connection trusts: the machine's roots, or the one certificate that the person accepted."""
    # From the usual port without encryption a server may send us on to its encrypted self.
    if place.scheme in ("http", "ws") and place.port != 80:
        return no_tls()
    return pinned(certificate) if certificate else roots()


def keep_alive_options() -> Iterator[tuple[int, int, int]]:
    """Yield the socket options by which a vanished peer is noticed although nothing is sent."""
    yield socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1
    for name, value in (
        ("TCP_KEEPIDLE", limits.PEER_IDLE),
        ("TCP_KEEPINTVL", limits.PEER_PROBE),
        ("TCP_KEEPCNT", limits.PEER_PROBES),
        ("TCP_USER_TIMEOUT", limits.PEER_GONE * 1000),
    ):
        if hasattr(socket, name):
            yield socket.IPPROTO_TCP, getattr(socket, name), value


class ServerClient:
    """An HTTP client for one server; it must be closed."""

    def __init__(self, url: str, *, certificate: str = "") -> None:
        self._place = place_of(url)
        if self._place.scheme not in ("http", "https"):
            raise NetError("url", "it is not a web address")
        transport = httpx2.AsyncHTTPTransport(
            verify=trust(self._place, certificate),
            proxy=proxy_for(url),
            socket_options=list(keep_alive_options()),
            limits=httpx2.Limits(
                max_connections=limits.HTTP_CONNECTIONS,
                max_keepalive_connections=limits.HTTP_SPARE_CONNECTIONS,
                keepalive_expiry=limits.MCP_SPARE_SECONDS,
            ),
        )
        self._client = httpx2.AsyncClient(
            transport=transport,
            trust_env=False,
            headers={"accept-encoding": "identity", "user-agent": "pilothouse"},
            timeout=httpx2.Timeout(None, connect=limits.CONNECT_TIMEOUT, write=limits.SILENCE_TIMEOUT),
        )

    async def send(
        self,
        method: Method,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes | None = None,
        timeout: float | None = None,
    ) -> Reply:
        """Send a request and return its reply once the headers are there; redirects within the origin are followed.

        Raise NetError; its `sent` says whether the server may have got the request.
        """
        if not self.is_home(url):
            raise NetError("refused", f"it names an address at {place_of(url).host}, which is not its own")
        for _ in range(limits.REDIRECTS + 1):
            reply = await self._twice(method, url, headers, content, timeout)
            target = reply.header("location")
            if reply.status not in _REDIRECTS or not target:
                return reply
            await reply.aclose()
            url = self._next(url, target)
        raise NetError("refused", f"it sent us on more than {limits.REDIRECTS} times")

    def is_home(self, url: str) -> bool:
        """Return whether an address is of this server, or of its encrypted self."""
        place = place_of(url)
        return place in (self._place, self._encrypted())

    async def aclose(self) -> None:
        await self._client.aclose()

    def _next(self, url: str, target: str) -> str:
        here, there = place_of(url), place_of(urljoin(url, target))
        if here.scheme == "https" and there.scheme != "https":
            raise NetError("refused", "it sends us on to an address without encryption")
        if there not in (self._place, self._encrypted()):
            raise NetError("refused", f"it sends us on to {there.scheme}://{there.host}, which is another server")
        return urljoin(url, target)

    def _encrypted(self) -> Place:
        plain = self._place.scheme == "http" and self._place.port == 80
        return Place("https", self._place.host, 443) if plain else self._place

    async def _twice(
        self, method: Method, url: str, headers: Mapping[str, str], content: bytes | None, timeout: float | None
    ) -> Reply:
        """Send once more what surely did not arrive: a spare connection may end just when it is used."""
        try:
            return await self._once(method, url, headers, content, timeout)
        except NetError as error:
            if error.problem != "broken" or error.sent:
                raise
        return await self._once(method, url, headers, content, timeout)

    async def _once(
        self, method: Method, url: str, headers: Mapping[str, str], content: bytes | None, timeout: float | None
    ) -> Reply:
        sent, dialed = False, None

        async def watch(event: str, info: Mapping[str, Any]) -> None:
            nonlocal sent, dialed
            # Without its last byte a request cannot have been carried out.
            sent = sent or event.endswith("send_request_body.complete")
            if event.endswith("connect_tcp.complete"):
                dialed = info["return_value"]
            elif event.endswith("start_tls.failed") and dialed is not None:
                # Nobody else closes it where the greeting was cancelled.
                await dialed.aclose()

        try:
            request = self._client.build_request(method, url, headers=headers, content=content)
            request.extensions["trace"] = watch
            async with asyncio.timeout(timeout):
                return Reply(HttpxSource(await self._client.send(request, stream=True, follow_redirects=False)))
        except TimeoutError:
            raise NetError("silent", f"nothing came for {timeout:g} s", sent=sent) from None
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, ValueError):
            raise NetError("url", "the address or a header is not valid") from None
        except httpx2.HTTPError as error:
            raise fault(error, self._place.host, sent=sent) from None
