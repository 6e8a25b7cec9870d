"""Requests to places that a server named: guarded, small, and told apart from the server itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from pilothouse.mcp.oauth.addresses import checked
from pilothouse.mcp.oauth.errors import OAuthError
from pilothouse.net.errors import NetError
from pilothouse.net.guarded import check, request
from pilothouse.net.reply import Fetched, Method
from pilothouse.types.json import encode

_T = TypeVar("_T")
_JSON = {"accept": "application/json"}


class Web:
    """Asks on behalf of one server; what may be reached depends on where that server itself is."""

    def __init__(self, server_url: str) -> None:
        self._near = server_url

    async def check(self, url: str, what: str) -> None:
        """Raise unless a person or a request may be sent to an address that a stranger named."""
        try:
            await check(checked(url, what), near=self._near)
        except NetError as error:
            raise OAuthError(
                f"The server names {urlsplit(url).netloc} as its {what}, and nothing is sent there: {error.why}.",
                fix="Check the server's address, and tell its operator.",
            ) from None

    async def get(self, url: str, what: str) -> Fetched:
        return await self._ask("GET", checked(url, what), _JSON, None)

    async def post_json(self, url: str, what: str, body: object) -> Fetched:
        """Send a JSON document and return the answer."""
        headers = {**_JSON, "content-type": "application/json"}
        return await self._ask("POST", checked(url, what), headers, encode(body))

    async def post_form(self, url: str, what: str, form: Mapping[str, str], headers: Mapping[str, str]) -> Fetched:
        """Send a form and return the answer."""
        sent = {**_JSON, "content-type": "application/x-www-form-urlencoded", **headers}
        return await self._ask("POST", checked(url, what), sent, urlencode(form).encode())

    async def _ask(self, method: Method, url: str, headers: Mapping[str, str], content: bytes | None) -> Fetched:
        try:
            return await request(method, url, headers=headers, content=content, near=self._near)
        except NetError as error:
            host = urlsplit(url).netloc
            message = f"Signing in needs {host}, which could not be asked: {error.why}."
            raise OAuthError(message, fix="Check the server's address and your network, then try again.") from None


def decoded(fetched: Fetched, kind: type[_T]) -> _T | None:
    """Return an answer's body as `kind`, None when it is something else."""
    try:
        return msgspec.json.decode(fetched.body, type=kind, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
