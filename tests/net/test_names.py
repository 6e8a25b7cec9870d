"""Names that fail, take their time, or change."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from pilothouse.net import addresses, guarded
from pilothouse.net.errors import NetError
from pilothouse.net.server_client import ServerClient, keep_alive_options
from pilothouse.types import limits
from tests.support.tiny_http import Answer, TinyHttp

# The other loops do not look names up by way of this module's `socket`.
pytestmark = pytest.mark.asyncio(loop_factories=["asyncio"])

NAME = "mcp.example"
Look = Callable[[], list[str]]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> list[Look]:
    """What each look-up of the name gives, the last one again and again."""
    plan: list[Look] = []
    real = socket.getaddrinfo

    def look(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host not in (NAME, NAME.encode()):
            return real(host, port, *rest, **more)
        found = plan.pop(0)() if len(plan) > 1 else plan[0]()
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, int(port))) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", look)
    return plan


def unknown() -> list[str]:
    raise socket.gaierror(socket.EAI_NONAME, "try again")


async def status(client: ServerClient, url: str) -> int:
    reply = await client.send("GET", url, headers={})
    await reply.read(100, 5)
    await reply.aclose()
    return reply.status


@pytest.mark.case("F-23")
async def test_a_name_that_fails_is_named_and_works_again_later(resolver: list[Look]) -> None:
    resolver += [unknown, lambda: ["127.0.0.1"]]
    async with TinyHttp(lambda request: Answer(204)) as server:
        url = f"http://{NAME}:{server.port}/"
        client = ServerClient(url)
        with pytest.raises(NetError, match=r"the name mcp\.example is not known") as caught:
            await status(client, url)
        assert caught.value.problem == "unknown"
        assert await status(client, url) == 204
        assert server.requests[0].headers["host"] == f"{NAME}:{server.port}"
        await client.aclose()


@pytest.mark.case("F-23")
async def test_a_name_that_changes_is_followed(resolver: list[Look]) -> None:
    async with TinyHttp(lambda request: Answer(200, b"", {"Connection": "close"})) as server:
        url = f"http://{NAME}:{server.port}/"
        resolver += [lambda: ["127.0.0.1"], lambda: ["127.0.0.2"]]
        client = ServerClient(url)
        assert await status(client, url) == 200
        with pytest.raises(NetError) as caught:
            await status(client, url)
        assert caught.value.problem == "unreachable"
        await client.aclose()


@pytest.mark.case("F-23")
async def test_a_name_that_takes_its_time_is_given_up(resolver: list[Look], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONNECT_TIMEOUT", 0.1)
    end = threading.Event()

    def slowly() -> list[str]:
        end.wait(10)
        return ["127.0.0.1"]

    resolver.append(slowly)
    client = ServerClient(f"http://{NAME}/")
    try:
        with pytest.raises(NetError) as caught:
            await client.send("GET", f"http://{NAME}/", headers={})
        assert caught.value.problem == "unreachable"
        with pytest.raises(NetError, match=r"looking up mcp\.example took too long"):
            await addresses.resolve(NAME, 80)
    finally:
        end.set()
        await client.aclose()
        await asyncio.get_running_loop().shutdown_default_executor()


async def test_a_name_that_nobody_could_look_up_is_not_called_unknown(resolver: list[Look]) -> None:
    def silent() -> list[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    resolver.append(silent)
    with pytest.raises(NetError, match=r"mcp\.example cannot be looked up at the moment") as caught:
        await addresses.resolve(NAME, 80)
    assert caught.value.problem == "unresolved"


@pytest.mark.case("F-23", "NET-03")
async def test_a_guarded_name_that_is_not_known_is_named(resolver: list[Look]) -> None:
    resolver.append(unknown)
    with pytest.raises(NetError, match=r"the name mcp\.example is not known"):
        await guarded.request("GET", f"https://{NAME}/", near="https://typed.example/")


@pytest.mark.case("F-16")
async def test_a_peer_that_vanishes_without_a_word_is_noticed_within_45_seconds() -> None:
    assert limits.PEER_IDLE + limits.PEER_PROBE * limits.PEER_PROBES <= 45
    assert limits.SOCKET_PING * 2 <= 30
    with socket.socket() as one:
        for level, name, value in keep_alive_options():
            one.setsockopt(level, name, value)
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
