"""What httpx2 does: requests through the proxy that the person's environment names, and the answers it brings."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import httpx2

from pilothouse.net.certificates import roots
from pilothouse.net.errors import NetError, reason
from pilothouse.net.reply import Method
from pilothouse.types import limits

# Whatever sends with httpx2 takes its answers from here. At INFO and below it writes addresses, and an address may
# carry a token.
for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class HttpxSource:
    """The body of a response that is still on its way."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._bytes = response.aiter_raw()
        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}

    async def chunk(self) -> bytes | None:
        try:
            return await anext(self._bytes, None)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise NetError("broken", reason(error), sent=True) from None

    async def aclose(self) -> None:
        await self._response.aclose()


class ProxyClient:
    """The connections of one event loop through proxies."""

    def __init__(self) -> None:
        self._clients: dict[str, httpx2.AsyncClient] = {}

    async def ask(
        self, proxy: str, method: Method, url: str, headers: Mapping[str, str], content: bytes | None
    ) -> HttpxSource:
        """Send a request with all its headers and return its answer once the head is there; raise NetError."""
        try:
            client = self._client(proxy)
            request = client.build_request(method, url, headers=headers, content=content)
            return HttpxSource(await client.send(request, stream=True, follow_redirects=False))
        except (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.InvalidURL, ValueError):
            raise NetError("url", "the address or a header is not valid") from None
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            raise NetError("unreachable", reason(error)) from None
        except httpx2.HTTPError as error:
            raise NetError("broken", reason(error)) from None

    async def aclose(self) -> None:
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
