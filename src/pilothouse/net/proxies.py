"""The proxy that the person's own environment names; nothing a server or a folder says can set one."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pilothouse.types.origins import is_loopback_host

_ALIKE = {"ws": "http", "wss": "https"}


def proxy_for(url: str) -> str | None:
    """Return the proxy for an address, None when it is reached directly; loopback always is."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback_host(host) or proxy_bypass(host):
        return None
    named = getproxies()
    proxy = named.get(_ALIKE.get(parts.scheme, parts.scheme)) or named.get("all")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    return proxy or None
