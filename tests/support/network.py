"""Keeps a test run on this machine: a connection or look-up that leaves loopback fails like a dead network."""

from __future__ import annotations

import ipaddress
import socket
import sys


def is_loopback(host: object) -> bool:
    """Return whether a host name or address stays on this machine."""
    if host in (None, "", b"", "localhost", b"localhost"):
        return True
    text = host.decode() if isinstance(host, bytes) else str(host)
    try:
        address = ipaddress.ip_address(text.split("%")[0])
    except ValueError:
        return text.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def is_address(host: object) -> bool:
    """Return whether a host is an address already: looking it up asks nobody."""
    try:
        ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host))
    except ValueError:
        return False
    return True


def guard(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse what leaves loopback; an audit hook."""
    if event == "socket.connect":
        address = arguments[1]
        if isinstance(address, tuple) and not is_loopback(address[0]):
            raise OSError(f"tests stay on loopback; {address[0]} is elsewhere")
    elif event == "socket.getaddrinfo":
        host = arguments[0]
        if not is_loopback(host) and not is_address(host):
            raise socket.gaierror(socket.EAI_NONAME, f"tests stay on loopback; {host!r} is elsewhere")


def allow_only_loopback() -> None:
    """Install the guard for the rest of this process; it cannot be removed."""
    sys.addaudithook(guard)
