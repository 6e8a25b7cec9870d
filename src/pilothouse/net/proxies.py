"""The proxy that the person's own environment names; nothing a server or a folder says can set one."""

from __future__ import annotations

import os
import sys
from urllib.parse import urlsplit

from pilothouse.net.errors import NetError
from pilothouse.types.origins import is_loopback_host

_ALIKE = {"ws": "http", "wss": "https"}


def proxy_for(url: str) -> str | None:
    """Return the proxy for an address, None when it is reached directly; loopback always is.

    Raise NetError for a proxy that cannot be used.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback_host(host) or not _may_be_any():
        return None
    # Imported only here: it brings a whole HTTP client along.
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415

    if proxy_bypass(host):
        return None
    named = getproxies()
    proxy = named.get(_ALIKE.get(parts.scheme, parts.scheme)) or named.get("all")
    if not proxy:
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    _check(proxy)
    return proxy


def _may_be_any() -> bool:
    """Return whether one may be named: on other systems than Linux, settings of the system name some, too."""
    return sys.platform != "linux" or any(name.lower().endswith("_proxy") for name in os.environ)


def _check(proxy: str) -> None:
    try:
        parts = urlsplit(proxy)
        # Reading the port checks its range.
        is_address = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise NetError("unreachable", "the proxy that the environment names is not an address")
    if parts.scheme not in ("http", "https"):
        raise NetError("unreachable", "the proxy that the environment names is none for HTTP; set https_proxy to one")
