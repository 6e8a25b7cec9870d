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
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


class Target(NamedTuple):
    """An address, taken apart once."""

    place: Place
    # Path and query as they stand in the first line.
    path: str
    host: str
    # What a user name and a password in the address come to.
    authorization: str


@lru_cache(maxsize=256)
def target_of(url: str) -> Target:
    """Return where a request to an address goes; raise NetError for what is none."""
    try:
        if any(character < " " or character == "\x7f" for character in url):
            raise ValueError("a control character")
        parts = urlsplit(url)
        # Reading the port checks its range.
        port = _PORTS[parts.scheme] if parts.port is None else parts.port
        if parts.scheme not in _PORTS or not parts.hostname or port == 0:
            raise ValueError("no host")
    except (ValueError, KeyError):
        raise NetError("url", "the address or a header is not valid") from None
    place = Place(parts.scheme, canonical_host(parts.hostname), port)
    path = quote(parts.path or "/", safe=_SAFE) + (f"?{quote(parts.query, safe=_SAFE)}" if parts.query else "")
    shown = f"[{place.host}]" if ":" in place.host else place.host
    host = shown if port == _PORTS[place.scheme] else f"{shown}:{port}"
    return Target(place, path, host, _basic(parts.username, parts.password))


def _basic(user: str | None, password: str | None) -> str:
    if user is None:
        return ""
    both = f"{unquote(user)}:{unquote(password or '')}".encode()
    return f"Basic {base64.b64encode(both).decode('ascii')}"


def request_bytes(method: Method, target: Target, headers: Mapping[str, str], content: bytes | None) -> bytes:
    """Return a request as it is sent; raise NetError for a header that would not stay one."""
    sending = {"host": target.host, "accept": "*/*", "accept-encoding": "identity", "user-agent": "pilothouse"}
    if target.authorization:
        sending["authorization"] = target.authorization
    for name, value in headers.items():
        sending[name.lower()] = value
    if content is not None or method not in ("GET", "DELETE"):
        sending["content-length"] = str(len(content or b""))
    for name, value in sending.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise NetError("url", "the address or a header is not valid")
    lines = "\r\n".join([f"{name}: {value}" for name, value in sending.items()])
    return f"{method} {target.path} HTTP/1.1\r\n{lines}\r\n\r\n".encode("ascii") + (content or b"")
