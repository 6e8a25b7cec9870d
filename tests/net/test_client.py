"""The shared client: bounded, direct on loopback, closed with its loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from pilothouse.net.client import close_clients, fetch, send
from pilothouse.net.errors import NetError
from pilothouse.types.origins import is_loopback_host
from tests.support.scripted_endpoint import Endpoint, Fault, Reply
from tests.support.wire_writers import Say, Text


@pytest_asyncio.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    """A server on loopback."""
    async with Endpoint() as server:
        yield server
        await close_clients()


async def test_a_small_document_is_fetched_whole(endpoint: Endpoint) -> None:
    got = await fetch(f"{endpoint.url}/v1/models", timeout=5, limit=10_000)
    assert got.status == 200
    assert b"text-100" in got.body


@pytest.mark.case("NET-08")
async def test_a_document_larger_than_allowed_is_not_read_on(endpoint: Endpoint) -> None:
    with pytest.raises(NetError, match="more than"):
        await fetch(f"{endpoint.url}/v1/models", timeout=5, limit=20)


async def test_a_proxy_of_the_environment_is_not_asked_for_loopback(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Endpoint() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("all_proxy", proxy.url)
        assert (await fetch(f"{endpoint.url}/closed", timeout=5, limit=100)).body == b"0"
        assert proxy.requests == []


async def test_a_silence_is_told_apart_from_being_cancelled(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say((Text(["a", "b", "c"]),)), fault=Fault("stall", after=1)))
    reply = await send("POST", f"{endpoint.url}/api/chat", headers={}, content=b"{}", timeout=5)
    assert await reply.chunk(5)
    with pytest.raises(NetError) as caught:
        await reply.chunk(0.05)
    assert caught.value.problem == "silent"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await reply.aclose()
    await endpoint.until_closed(timeout=1)


async def test_a_slow_reader_is_not_taken_for_a_silent_server(endpoint: Endpoint) -> None:
    endpoint.answer(Reply(Say((Text(["a"] * 5),))))
    reply = await send("POST", f"{endpoint.url}/api/chat", headers={}, content=b"{}", timeout=5)
    parked = asyncio.Event()
    while await reply.chunk(0.02) is not None:
        # Longer than the limit, but ours: the server has long sent everything.
        asyncio.get_running_loop().call_later(0.05, parked.set)
        await parked.wait()
        parked.clear()
    await reply.aclose()


async def test_a_connection_is_used_again_for_the_next_request(endpoint: Endpoint) -> None:
    for _ in range(3):
        await fetch(f"{endpoint.url}/closed", timeout=5, limit=100)
    assert len(endpoint._connections) == 1


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1", "app.localhost"])
def test_names_of_this_machine_are_known(host: str) -> None:
    assert is_loopback_host(host)


@pytest.mark.parametrize("host", ["example.org", "10.0.0.1", "localhost.example.org", "", "0.0.0.0"])
def test_other_names_are_not_taken_for_this_machine(host: str) -> None:
    assert not is_loopback_host(host)
