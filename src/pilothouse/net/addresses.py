"""Where an address leads: whether a host is out in the open, or inside where a stranger's word must not lead us."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from pilothouse.net.errors import NetError, lookup_failed
from pilothouse.types import limits
from pilothouse.types.origins import is_loopback_host

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]

_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
# Clouds answer with credentials here, although the addresses look like any others.
_METADATA = {ipaddress.ip_address(each) for each in ("168.63.129.16", "192.0.0.192", "100.100.100.200")}
# Its last 32 bits are an IPv4 address that a gateway goes on to.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_ISATAP = {0x00005EFE, 0x02005EFE}
# Addresses for examples: nothing is sent to them, the question is only whether there is a way.
_SOMEWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
_NO_WAY = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.ENETDOWN, errno.EAFNOSUPPORT}


class Place(NamedTuple):
    """The part of a URL that says whom to connect to, in one spelling."""

    scheme: str
    host: str
    port: int
    # The fingerprint of the one certificate that is trusted there; empty trusts what this machine does.
    certificate: str = ""

    @property
    def authority(self) -> str:
        """Return host and port as they stand in an address and in the header `host`: the usual port is left out."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return shown if self.port == _PORTS[self.scheme] else f"{shown}:{self.port}"


def place_of(url: str) -> Place:
    """Return where a URL leads; raise NetError for one that two programs could read differently."""
    if any(character <= " " or character in "\\\x7f" for character in url):
        raise NetError("url", "the address holds a character that has no place in one")
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise NetError("url", "it is not a web address") from None
    if "@" in parts.netloc:
        raise NetError("url", "the address holds a user name")
    return Place(parts.scheme, canonical_host(parts.hostname or ""), port)


def canonical_host(host: str) -> str:
    """Return a host in the spelling everything is compared in: numbers as an address, names in lower-case ASCII."""
    try:
        name = (host.encode("idna") if host.isascii() else _encoded(host)).decode("ascii").lower().rstrip(".")
    except UnicodeError:
        raise NetError("url", "its host is not a name") from None
    if not name or "%" in name:
        raise NetError("url", "its host is not a name")
    if ":" in name:
        try:
            return str(ipaddress.IPv6Address(name))
        except ValueError:
            raise NetError("url", "its host is not an address") from None
    last = name.rpartition(".")[2]
    if not (last.isdigit() or last.startswith("0x")):
        return name
    try:
        # The lenient reading that connecting would use: decimal, octal, hexadecimal, fewer than four parts.
        return str(ipaddress.IPv4Address(socket.inet_aton(name)))
    except OSError:
        raise NetError("url", "its host is not an address") from None


def _encoded(host: str) -> bytes:
    """Return a name in other letters as browsers spell it; Python's own codec would take “ß” for “ss”, another name."""
    # Few hosts need it, and it takes as long as much else that a first answer waits for.
    import idna  # noqa: PLC0415

    return idna.encode(host, uts46=True)


def literal(host: str) -> Address | None:
    """Return the address that a canonical host is, or None when it is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Return whether an address is out in the open, and every address packed into it too."""
    if address in _NAT64:
        return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return all(
        one.is_global and not (one.is_multicast or one.is_reserved or one.is_unspecified or one in _METADATA)
        for one in (address, *_packed(address))
    )


def is_intranet(address: Address) -> bool:
    """Return whether an address is of a private network that is neither this machine nor the link it hangs on."""
    inner = next(_packed(address), address)
    away = inner.is_loopback or inner.is_link_local or inner.is_multicast or inner.is_unspecified
    return not away and not (inner.is_reserved or inner in _METADATA)


def _packed(address: Address) -> Iterator[Address]:
    if isinstance(address, ipaddress.IPv4Address):
        return
    number = int(address)
    if address.ipv4_mapped:
        yield address.ipv4_mapped
    elif address.sixtofour:
        yield address.sixtofour
    elif address.teredo:
        yield from address.teredo
    elif address in _NAT64 or (number >> 32) & 0xFFFFFFFF in _ISATAP or 1 < number < 1 << 32:
        yield ipaddress.IPv4Address(number & 0xFFFFFFFF)


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a name; raise NetError that names it."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(limits.CONNECT_TIMEOUT):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise NetError("unreachable", f"looking up {host} took too long") from None
    except (OSError, UnicodeError) as error:
        raise lookup_failed(error, host) from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def checked(place: Place, *, near: Place, ask: Resolve = resolve) -> str:
    """Return the address to connect to, looked up once; raise NetError when a stranger must not lead us there.

    `near` is what the person typed: what is inside is allowed when it is that same host.
    """
    same = place.host == near.host
    if is_loopback_host(place.host):
        if same or is_loopback_host(near.host):
            return place.host if literal(place.host) else (await ask(place.host, place.port))[0]
        raise NetError("refused", f"{place.host} is this machine")
    if address := literal(place.host):
        if same or is_public(address):
            return place.host
        raise NetError("refused", f"{place.host} is a private address")
    found = await ask(place.host, place.port)
    for text in found:
        one = ipaddress.ip_address(text.partition("%")[0])
        # A name that the person typed may be of their own network; it never is this machine in disguise.
        if not is_public(one) and not (same and is_intranet(one)):
            raise NetError("refused", f"{place.host} leads to the private address {one}")
    if not found:
        raise NetError("unknown", f"the name {place.host} is not known")
    return found[0]


def is_offline(host: str) -> bool:
    """Return whether there is no way to anything beyond this machine, which is where the host is."""
    return not is_loopback_host(host) and not any(_has_way(family, there) for family, there in _SOMEWHERE)


def _has_way(family: socket.AddressFamily, address: str) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
    except OSError as error:
        return error.errno not in _NO_WAY
    return True
