"""Who announces a service in the local network: one question over multicast DNS, and the answers of a few seconds.

Whoever is in the network may answer anything. What is read is bounded, and only the address that an answer came from
is believed: an announcement leads nowhere but to the machine that made it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import secrets
import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

from pilothouse.types import limits

GROUP = ("224.0.0.251", 5353)
_HEADER = struct.Struct("!6H")
_FIXED = struct.Struct("!HHIH")
_PTR, _TXT, _SRV = 12, 16, 33
# Class IN, with the wish to be answered directly: nobody else in the network has to read it.
_QUESTION = struct.Struct("!HH").pack(_PTR, 0x8001)
_POINTER = 0xC0
_NAME_LABELS = 20


class Announced(NamedTuple):
    """A service as one machine announces it."""

    # Of this service: "Printer on the second floor".
    name: str
    address: str
    port: int
    facts: dict[str, str]


class _Record(NamedTuple):
    name: tuple[str, ...]
    kind: int
    # Where its data begins and ends in the packet.
    start: int
    end: int


async def announced(
    service: str, seconds: float = limits.ANNOUNCED_WAIT, group: tuple[str, int] = GROUP
) -> list[Announced]:
    """Return who announces a service ("_mcp._tcp.local") on any network of this machine; nobody where there is none."""
    heard: list[tuple[str, bytes]] = []
    full = asyncio.get_running_loop().create_future()

    class Listening(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
            if len(data) <= limits.ANNOUNCED_PACKET:
                heard.append((addr[0], data))
            if len(heard) >= limits.ANNOUNCED_PACKETS and not full.done():
                full.set_result(None)

    number = secrets.randbits(16)
    with contextlib.ExitStack() as sockets:
        for each in _sockets(group):
            sockets.callback(each.close)
            try:
                each.sendto(_question(service, number), group)
                transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(Listening, sock=each)
            except OSError:
                # A network that takes no multicast.
                continue
            sockets.callback(transport.close)
        await asyncio.wait((full,), timeout=seconds)
    full.cancel()
    found: dict[tuple[str, int], Announced] = {}
    for sender, packet in heard:
        for one in _services(packet, service, sender):
            if len(found) < limits.ANNOUNCED_SERVERS:
                found.setdefault((one.address, one.port), one)
    return list(found.values())


def _sockets(group: tuple[str, int]) -> Iterator[socket.socket]:
    """Yield a socket for each network of this machine; where these cannot be told apart, one for the usual network."""
    if not ipaddress.ip_address(group[0]).is_multicast:
        yield _socket()
        return
    for number, _ in socket.if_nameindex() if hasattr(socket, "if_nameindex") else [(0, "")]:
        made = _socket()
        made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
        try:
            # Linux takes the number of a network here, in a form that other systems refuse.
            option = struct.pack("@4s4si", bytes(4), bytes(4), number)
            made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, option)
        except OSError:
            yield made
            return
        yield made


def _socket() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    made.bind(("", 0))
    return made


def _question(service: str, number: int) -> bytes:
    labels = b"".join(bytes((len(label),)) + label.encode() for label in service.split("."))
    return _HEADER.pack(number, 0, 1, 0, 0, 0) + labels + b"\0" + _QUESTION


def _services(packet: bytes, service: str, sender: str) -> Iterator[Announced]:
    """Yield the services in an answer; nothing for what is no answer, or breaks off."""
    try:
        records = _records(packet)
        kind = tuple(service.lower().split("."))
        facts = {each.name: _facts(packet[each.start : each.end]) for each in records if each.kind == _TXT}
        for each in records:
            if each.kind == _SRV and _lower(each.name[1:]) == kind and each.end - each.start > 6:
                (port,) = struct.unpack_from("!H", packet, each.start + 4)
                if port:
                    yield Announced(each.name[0], sender, port, facts.get(each.name, {}))
    except (IndexError, struct.error, UnicodeDecodeError):
        return


def _lower(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(label.lower() for label in labels)


def _records(packet: bytes) -> list[_Record]:
    _, flags, questions, *counts = _HEADER.unpack_from(packet)
    if not flags & 0x8000 or questions > limits.ANNOUNCED_RECORDS or sum(counts) > limits.ANNOUNCED_RECORDS:
        return []
    place = _HEADER.size
    for _ in range(questions):
        place = _name(packet, place)[1] + 4
    found: list[_Record] = []
    for _ in range(sum(counts)):
        name, place = _name(packet, place)
        kind, _, _, length = _FIXED.unpack_from(packet, place)
        place += _FIXED.size + length
        if place > len(packet):
            raise IndexError
        found.append(_Record(name, kind, place - length, place))
    return found


def _name(packet: bytes, place: int) -> tuple[tuple[str, ...], int]:
    """Return a name and where it ends; a pointer leads back in the packet only, so that none leads round."""
    labels: list[str] = []
    end = 0
    while (length := packet[place]) != 0:
        if length & _POINTER == _POINTER:
            target = (length & ~_POINTER) << 8 | packet[place + 1]
            end = end or place + 2
            if target >= place:
                raise IndexError
            place = target
            continue
        if length & _POINTER or len(labels) >= _NAME_LABELS or place + 1 + length > len(packet):
            raise IndexError
        labels.append(packet[place + 1 : place + 1 + length].decode())
        place += 1 + length
    return tuple(labels), end or place + 1


def _facts(data: bytes) -> dict[str, str]:
    """Return the pairs of a text record; the first of a name counts."""
    found: dict[str, str] = {}
    place = 0
    while place < len(data):
        name, _, value = data[place + 1 : place + 1 + data[place]].decode("utf-8", "replace").partition("=")
        found.setdefault(name.lower(), value)
        place += 1 + data[place]
    return found
