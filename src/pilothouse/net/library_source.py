"""An answer that httpx2 brought: through a proxy, with cookies, or from an address that was checked before."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import httpx2

from pilothouse.net.errors import NetError, reason

# Whatever sends with httpx2 takes its answers from here. At INFO and below it writes addresses, and an address may
# carry a token.
for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class LibrarySource:
    """The body of a response that is still on its way."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._bytes = response.aiter_raw()
        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}

    async def chunk(self) -> bytes | None:
        """Return the next bytes of the body, or None at its end; raise NetError."""
        try:
            return await anext(self._bytes, None)
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise NetError("broken", reason(error), sent=True) from None

    async def aclose(self) -> None:
        """Close the connection, at once if the body is not at its end."""
        await self._response.aclose()
