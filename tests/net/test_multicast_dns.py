"""Announcements in the local network: asked for once, read within bounds, and believed only about their sender."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast

import pytest

from pilothouse.net.multicast_dns import GROUP, Announced, announced
from pilothouse.types import limits

SERVICE = "_mcp._tcp.local"


def name(*labels: str) -> bytes:
    return b"".join(bytes((len(each.encode()),)) + each.encode() for each in labels) + b"\0"


def record(owner: bytes, kind: int, data: bytes) -> bytes:
    return owner + struct.pack("!HHIH", kind, 0x8001, 120, len(data)) + data


def packet(*records: bytes, flags: int = 0x8400) -> bytes:
    return struct.pack("!6H", 0, flags, 0, len(records), 0, 0) + b"".join(records)


def srv(instance: str, port: int, service: str = SERVICE) -> bytes:
    data = struct.pack("!3H", 0, 0, port) + name("nas", "local")
    return record(name(instance, *service.split(".")), 33, data)


def txt(instance: str, *pairs: str) -> bytes:
    data = b"".join(bytes((len(each),)) + each.encode() for each in pairs)
    return record(name(instance, *SERVICE.split(".")), 16, data)


class Responder(asyncio.DatagramProtocol):
    """Answers each question with the same packets."""

    def __init__(self, packets: list[bytes]) -> None:
        self._packets = packets
        self.asked: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.asked.append(data)
        for each in self._packets:
            self._transport.sendto(each, addr)


@asynccontextmanager
async def responding(*packets: bytes, sock: socket.socket | None = None) -> AsyncIterator[tuple[Responder, int]]:
    where = {"sock": sock} if sock else {"local_addr": ("127.0.0.1", 0)}
    make: Callable[[], Responder] = lambda: Responder(list(packets))  # noqa: E731
    transport, responder = await asyncio.get_running_loop().create_datagram_endpoint(make, **where)
    try:
        yield responder, transport.get_extra_info("sockname")[1]
    finally:
        transport.close()
        await asyncio.sleep(0)


async def heard(*packets: bytes, seconds: float = 0.3) -> list[Announced]:
    async with responding(*packets) as (_, port):
        return await announced(SERVICE, seconds, ("127.0.0.1", port))


async def test_a_service_is_found_with_its_port_and_what_is_said_of_it() -> None:
    answer = packet(
        srv("Files", 8000), txt("Files", "path=/mcp", "PATH=/other", "flag"), srv("Web", 80, "_http._tcp.local")
    )
    async with responding(answer) as (responder, port):
        found = await announced(SERVICE, 0.3, ("127.0.0.1", port))
    assert found == [Announced("Files", "127.0.0.1", 8000, {"path": "/mcp", "flag": ""})]
    (question,) = responder.asked
    # One question, for pointers of class IN, with the wish to be answered directly.
    assert question[2:12] == struct.pack("!5H", 0, 1, 0, 0, 0)
    assert question[12:] == name(*SERVICE.split(".")) + struct.pack("!HH", 12, 0x8001)


async def test_names_may_point_back_in_the_packet() -> None:
    first = record(name(*SERVICE.split(".")), 12, name("Files", *SERVICE.split(".")))
    data = struct.pack("!3H", 0, 0, 8000) + name("nas")
    second = record(bytes((5,)) + b"Files" + b"\xc0\x0c", 33, data)
    assert [(each.name, each.port) for each in await heard(packet(first, second))] == [("Files", 8000)]


@pytest.mark.parametrize(
    "rubbish",
    [
        b"",
        b"\0" * 11,
        packet(srv("Files", 8000), flags=0),
        packet(srv("Files", 0)),
        packet(srv("Files", 8000)[:-3]),
        packet(record(b"\xc0\x0c", 33, b"\0" * 8)),
        packet(record(b"\xc0\x0e\xc0\x0c", 33, b"\0" * 8)),
        packet(record(b"\x41" + b"a" * 65 + b"\0", 33, b"\0" * 8)),
        packet(record(name(*"abcdefghijklmnopqrstuvwxyz"), 33, b"\0" * 8)),
        packet(record(b"\x01\xff" + name(*SERVICE.split(".")), 33, b"\0" * 8)),
        struct.pack("!6H", 0, 0x8400, 0, 65535, 65535, 65535) + srv("Files", 8000),
        packet(srv("Files", 8000)) + b"\0" * limits.ANNOUNCED_PACKET,
        packet(record(name("x", *SERVICE.split(".")), 33, b"\0")),
    ],
    ids=range(13),
)
async def test_what_is_no_announcement_is_passed_over_and_others_are_heard(rubbish: bytes) -> None:
    found = await heard(rubbish, packet(srv("Good", 9)))
    assert [each.name for each in found] == ["Good"]


async def test_a_flood_of_announcements_is_bounded() -> None:
    flood = [packet(*(srv(f"s{page}-{each}", page * 50 + each + 1) for each in range(50))) for page in range(20)]
    assert len(await heard(*flood, seconds=1)) == limits.ANNOUNCED_SERVERS


async def test_the_question_reaches_who_listens_to_the_group_on_this_machine() -> None:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("", 0))
    loopback = socket.inet_aton("127.0.0.1")
    made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP[0]) + loopback)
    made.setblocking(False)
    async with responding(packet(srv("Files", 8000)), sock=made) as (responder, port):
        found = await announced(SERVICE, 0.5, (GROUP[0], port))
    assert responder.asked
    assert [(each.name, each.port) for each in found] == [("Files", 8000)]


async def test_nobody_announces_anything() -> None:
    assert await heard() == []
