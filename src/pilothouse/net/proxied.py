"""Requests that go through the proxy which the person's own environment names."""

from __future__ import annotations

from collections.abc import Mapping

import httpx2

from pilothouse.net.certificates import roots
from pilothouse.net.errors import NetError, reason
from pilothouse.net.library_source import LibrarySource
from pilothouse.net.reply import Method
from pilothouse.types import limits


class Proxied:
    """The connections of one event loop through proxies."""

    def __init__(self) -> None:
        self._clients: dict[str, httpx2.AsyncClient] = {}

    async def ask(
        self, proxy: str, method: Method, url: str, headers: Mapping[str, str], content: bytes | None
    ) -> LibrarySource:
        """Send a request with all its headers and return its answer once the head is there; raise NetError."""
        try:
            client = self._client(proxy)
            request = client.build_request(method, url, headers=headers, content=content)
            return LibrarySource(await client.send(request, stream=True, follow_redirects=False))
        except (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.InvalidURL, ValueError):
            raise NetError("url", "the address or a header is not valid") from None
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            raise NetError("unreachable", reason(error)) from None
        except httpx2.HTTPError as error:
            raise NetError("broken", reason(error)) from None

    async def aclose(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    def _client(self, proxy: str) -> httpx2.AsyncClient:
        if proxy not in self._clients:
            self._clients[proxy] = httpx2.AsyncClient(
                verify=roots(),
                proxy=proxy,
                trust_env=False,
                follow_redirects=False,
                timeout=httpx2.Timeout(None, connect=limits.CONNECT_TIMEOUT, write=limits.SILENCE_TIMEOUT),
                limits=httpx2.Limits(
                    max_connections=limits.HTTP_CONNECTIONS,
                    max_keepalive_connections=limits.HTTP_SPARE_CONNECTIONS,
                    keepalive_expiry=limits.HTTP_SPARE_SECONDS,
                ),
            )
        return self._clients[proxy]
