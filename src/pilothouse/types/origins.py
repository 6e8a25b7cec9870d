"""Where a URL leads: the part that a key is bound to."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}


def origin_of(url: str) -> str:
    """Return `scheme://host:port` of an HTTP address, empty when it is none."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port or _PORTS[parts.scheme.lower()]
    except (ValueError, KeyError):
        return ""
    host = (parts.hostname or "").rstrip(".")
    if ":" in host:
        host = f"[{host}]"
    return f"{parts.scheme.lower()}://{host}:{port}" if host else ""


def host_shown(url: str) -> str:
    """Return where a URL leads as the network spells it: what only looks like another host does not, in this."""
    try:
        # Browsers take a backslash for a slash.
        parts = urlsplit(url.strip().replace("\\", "/"))
        host, port = parts.hostname or "", parts.port
        name = host if host.isascii() else host.encode("idna").decode("ascii")
    except (ValueError, UnicodeError):
        return ""
    return f"{name}:{port}" if port else name


def is_loopback(url: str) -> bool:
    """Return whether an address can only lead to this machine."""
    return is_loopback_host(urlsplit(origin_of(url)).hostname or "")


@lru_cache(maxsize=256)
def is_loopback_host(host: str) -> bool:
    """Return whether a host name or address can only be this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# Names that only a home or an office has.
_NEAR = (".local", ".lan", ".home", ".internal", ".home.arpa")


def is_nearby(url: str) -> bool:
    """Return whether an address can only lead to this machine or into its own network."""
    host = urlsplit(origin_of(url)).hostname or ""
    if is_loopback_host(host):
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_NEAR))
