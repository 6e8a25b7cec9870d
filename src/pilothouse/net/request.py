"""A request as its bytes, and whom they go to."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from pilothouse.net.addresses import Place, canonical_host
from pilothouse.net.errors import NetError
from pilothouse.net.reply import Method

_PORTS = {"http": 80, "https": 443}
# What may stand in a path and a query as it is; the percent sign because the rest may be quoted already.
_SAFE = "/%:@!$&'()*+,;=~-._?[]"
_HOST = re.compile(r"[0-9a-z._:-]+")
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_INVALID = "the address or a header is not valid"


class Target(NamedTuple):
    """An address, taken apart once."""

    place: Place
    # Path and query as they stand in the first line.
    path: str
    host: str
    # What a user name and a password in the address come to.
    authorization: str

    @property
    def url(self) -> str:
        """Return the address without what is secret in it or only for us."""
        return f"{self.place.scheme}://{self.host}{self.path}"


@lru_cache(maxsize=256)
def target_of(url: str) -> Target:
    """Return where a request to an address goes; raise NetError for what is none."""
    try:
        if any(character < " " or character == "\x7f" for character in url):
            raise ValueError("a control character")
        parts = urlsplit(url)
        # Reading the port checks its range.
        port = _PORTS[parts.scheme] if parts.port is None else parts.port
        place = Place(parts.scheme, canonical_host(parts.hostname or ""), port)
        if place.scheme not in _PORTS or not _HOST.fullmatch(place.host) or port == 0:
            raise ValueError("not a server")
        path = quote(parts.path or "/", safe=_SAFE) + (f"?{quote(parts.query, safe=_SAFE)}" if parts.query else "")
        authorization = _basic(parts.username or "", parts.password or "")
    except (ValueError, KeyError):
        raise NetError("url", _INVALID) from None
    return Target(place, path, place.authority, authorization)


def _basic(user: str, password: str) -> str:
    if not user and not password:
        return ""
    both = f"{unquote(user)}:{unquote(password)}".encode()
    return f"Basic {base64.b64encode(both).decode('ascii')}"


def request_headers(
    method: Method, target: Target, headers: Mapping[str, str], content: bytes | None
) -> dict[str, str]:
    """Return all headers of a request, names in lower case; raise NetError for one that would not stay one."""
    sending = {"host": target.host, "accept": "*/*", "accept-encoding": "identity", "user-agent": "pilothouse"}
    sending.update((name.lower(), value) for name, value in headers.items())
    if target.authorization:
        sending["authorization"] = target.authorization
    # How long a request is, is said by what is sent and by nobody else.
    sending.pop("content-length", None)
    if content is not None or method not in ("GET", "DELETE"):
        sending["content-length"] = str(len(content or b""))
    for name, value in sending.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value) or name == "transfer-encoding":
            raise NetError("url", _INVALID)
    return sending


def request_head(method: Method, target: Target, headers: Mapping[str, str]) -> bytes:
    """Return a request as it is sent, up to its content; `headers` are all of them."""
    lines = "\r\n".join([f"{name}: {value}" for name, value in headers.items()])
    return f"{method} {target.path} HTTP/1.1\r\n{lines}\r\n\r\n".encode("ascii")
