"""Where MCP servers usually listen, and what a person may name to have it looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec

from pilothouse.net.addresses import Place, canonical_host, place_of
from pilothouse.net.errors import NetError
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.servers import Wire

# Each with who listens there.
PORTS = {
    80: "whatever a reverse proxy lets through",
    443: "the same with encryption, and what `tailscale serve` offers",
    3000: "servers written in Node, by habit",
    3001: "the protocol's own examples, and Node servers beside another",
    3845: "Figma's desktop program",
    5000: "servers written with Flask or .NET, by habit",
    8000: "servers of the Python SDK and FastMCP, and supergateway",
    8080: "gateways, and servers in Java and Go",
    8081: "the same beside another",
    8123: "Home Assistant",
    8443: "servers with encryption and without the right to the port 443",
    8811: "Docker's gateway",
    8931: "Playwright's server",
    9000: "servers in Go and PHP, by habit",
}
_ENCRYPTED = (443, 8443)
# The path and what is spoken there, the likeliest first; what answers first is the server of its port.
WAYS: tuple[tuple[str, Wire], ...] = (
    ("/mcp", "streamable"),
    ("/sse", "sse"),
    ("/", "streamable"),
    ("/ws", "websocket"),
)
_MORE_WAYS: dict[int, tuple[tuple[str, Wire], ...]] = {8123: (("/api/mcp", "streamable"), ("/mcp_server/sse", "sse"))}
_SCHEMES = ("http", "https", "ws", "wss")
_RANGE = re.compile(r"[\d.]+(/\d{1,2}|-[\d.]+)|[\d.]*+\*[\d.*]*+|[0-9A-Fa-f:]+/\d{1,3}")


class Named(msgspec.Struct, frozen=True):
    """A host that a person named, with what they said about the rest."""

    # As it was typed, for what is told about it.
    typed: str
    host: str
    # None for the usual ones.
    port: int | None = None
    # Empty for the usual ones.
    path: str = ""
    scheme: str = ""


def named(text: str) -> Named:
    """Return what a person named: a host, a host and a port, or a URL; raise `bad_request` for anything else."""
    text = text.strip()
    fix = "Name a host, such as nas, 192.0.2.7:8000 or box.tail1234.ts.net."
    if not text or len(text) > limits.NEARBY_HOST_CHARS:
        raise PilothouseError("bad_request", "The name of a host is missing or too long.", fix=fix)
    if _RANGE.fullmatch(text):
        raise PilothouseError("bad_request", f"“{text}” is a range; only hosts that you name are looked at.", fix=fix)
    try:
        return _parsed(text)
    except (NetError, ValueError):
        raise PilothouseError("bad_request", f"“{text}” is no host.", fix=fix) from None


def _parsed(text: str) -> Named:
    # An address of six letters and colons is one, and no host with a port.
    bare = f"[{text}]" if text.count(":") > 1 and "[" not in text and "/" not in text else text
    parts = urlsplit(bare if "://" in bare else f"//{bare}")
    place_of(f"http://{parts.netloc}/")
    if parts.scheme and parts.scheme not in _SCHEMES:
        raise ValueError
    port = parts.port
    if parts.scheme and port is None:
        port = place_of(parts.geturl()).port
    path = parts.path.rstrip("/") + (f"?{parts.query}" if parts.query else "")
    return Named(text, canonical_host(parts.hostname or ""), port, path, parts.scheme)


def ports_of(host: Named) -> tuple[int, ...]:
    """Return the ports to knock at."""
    return (host.port,) if host.port is not None else tuple(PORTS)


def is_unsure(host: Named, port: int) -> bool:
    """Return whether only a look tells if a port is encrypted."""
    return not host.scheme and port not in PORTS


def ways_to(host: Named, port: int, *, encrypted: bool = False) -> Iterator[tuple[str, Wire]]:
    """Yield the addresses to ask at an open port, and what to speak there."""
    scheme = {"ws": "http", "wss": "https"}.get(host.scheme, host.scheme)
    scheme = scheme or ("https" if encrypted or port in _ENCRYPTED else "http")
    base = f"{scheme}://{Place(scheme, host.host, port).authority}"
    if host.path:
        yield f"{base}{host.path}", "auto"
        return
    for path, wire in (*WAYS, *_MORE_WAYS.get(port, ())):
        yield f"{base}{path}", wire
