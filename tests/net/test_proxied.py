"""Requests through the proxy that the environment names: the same requests, the same answers, the same words."""

from __future__ import annotations

import asyncio
import logging
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.net import httpx_client
from pilothouse.net.client import fetch, send
from pilothouse.net.errors import NetError
from pilothouse.net.guarded import request
from pilothouse.net.loop_clients import close_clients
from pilothouse.net.proxies import proxy_for
from pilothouse.net.server_client import ServerClient
from tests.net.answers import CHUNKED, OK, whole
from tests.support.certificates import SelfSigned
from tests.support.ports import free_port
from tests.support.raw_server import Peer, RawServer, answer_and_close, answer_each

MODEL = "http://model.example/v1"
SECRET = "sk-secret"


@pytest_asyncio.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    """Close what the loop's clients hold."""
    yield
    await close_clients()


def name_proxy(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Let the environment name a proxy for everything."""
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, url)


async def failure(url: str = MODEL) -> NetError:
    """Return why a request fails."""
    with pytest.raises(NetError) as caught:
        await fetch(url, headers={"authorization": SECRET}, timeout=5, limit=1000)
    assert SECRET not in str(caught.value)
    return caught.value


async def test_what_is_elsewhere_is_asked_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = []

    async def talk(peer: Peer) -> None:
        while True:
            requests.append(await peer.request())
            await peer.send(CHUNKED + b"5\r\nhello\r\n0\r\n\r\n")

    async with RawServer(talk) as proxy:
        name_proxy(monkeypatch, proxy.url)
        for _ in range(2):
            reply = await send("POST", f"{MODEL}/a b?q=ä#f", headers={"X-Key": SECRET}, content=b"{}", timeout=5)
            assert (reply.status, reply.header("transfer-encoding")) == (200, "chunked")
            assert await reply.read(100, 5) == b"hello"
            await reply.aclose()
        assert proxy.connections == 1
    head, _, body = requests[1].partition(b"\r\n\r\n")
    first, *lines = head.decode().lower().split("\r\n")
    assert first == "post http://model.example/v1/a%20b?q=%c3%a4 http/1.1"
    assert body == b"{}"
    assert {"host: model.example", f"x-key: {SECRET}", "accept-encoding: identity", "user-agent: pilothouse"} <= {
        *lines
    }
    assert [line for line in lines if line.startswith("content-length")] == ["content-length: 2"]


async def test_a_password_in_an_address_goes_to_the_server_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = []

    async def talk(peer: Peer) -> None:
        requests.append(await peer.request())
        await peer.send(whole(b""))

    async with RawServer(talk) as proxy:
        name_proxy(monkeypatch, proxy.url.replace("://", "://me:own@"))
        await fetch("http://user:secret@model.example/", timeout=5, limit=10)
    lines = requests[0].decode().split("\r\n")
    assert lines[0] == "GET http://model.example/ HTTP/1.1"
    assert "authorization: Basic dXNlcjpzZWNyZXQ=" in lines
    assert "Proxy-Authorization: Basic bWU6b3du" in lines


async def test_what_is_encrypted_stays_so_through_the_proxy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = SelfSigned(tmp_path)
    monkeypatch.setattr(httpx_client, "roots", lambda: ssl.create_default_context(cafile=own.path))
    seen = []

    async def talk(peer: Peer) -> None:
        seen.append(await peer.request())
        await peer.send(OK + b"\r\n")
        await peer.writer.start_tls(own.server())
        seen.append(await peer.request())
        await peer.send(whole(b"hello"))
        await peer.gone()

    async with RawServer(talk) as proxy:
        name_proxy(monkeypatch, proxy.url)
        monkeypatch.setattr("pilothouse.net.proxies.is_loopback_host", lambda host: False)
        reply = await send("GET", "https://localhost/v1", headers={"authorization": SECRET}, timeout=5)
        assert await reply.read(100, 5) == b"hello"
        await reply.aclose()
        await close_clients()
        await proxy.until(open=0)
    assert seen[0].startswith(b"CONNECT localhost:443 HTTP/1.1\r\n")
    assert SECRET.encode() not in seen[0]
    assert seen[1].startswith(b"GET /v1 HTTP/1.1\r\n")
    assert SECRET.encode() in seen[1]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "localhost", "localhost.", "LOCALHOST"])
async def test_this_machine_is_never_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    async with RawServer(answer_each(whole(b"poison"))) as proxy, RawServer(answer_each(whole(b"hello"))) as server:
        name_proxy(monkeypatch, proxy.url)
        monkeypatch.setenv("all_proxy", proxy.url)
        assert (await fetch(f"http://{host}:{server.port}/", timeout=5, limit=10)).body == b"hello"
        assert not proxy.connections


async def test_what_the_environment_exempts_is_not_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with RawServer(answer_each(whole(b"poison"))) as proxy:
        name_proxy(monkeypatch, proxy.url)
        monkeypatch.setenv("no_proxy", "model.example")
        assert (await failure()).problem == "unreachable"
        assert not proxy.connections


# --- what goes wrong, in the words for what goes straight ---


async def test_a_proxy_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    name_proxy(monkeypatch, f"http://127.0.0.1:{free_port()}")
    error = await failure()
    assert (error.problem, error.why) == ("unreachable", "nothing listens there")


async def test_a_proxy_that_does_not_let_us_through_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with RawServer(answer_each(b"HTTP/1.1 407 Who Are You\r\ncontent-length: 0\r\n\r\n")) as proxy:
        name_proxy(monkeypatch, proxy.url)
        error = await failure("https://model.example/v1")
        assert (error.problem, error.why) == ("unreachable", "the proxy that the environment names refuses")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "the other side closed the connection"),
        (OK, "the other side closed the connection"),
        (whole(b"hello")[:-1], "the other side closed the connection"),
        (b"nonsense\r\n\r\n", "its answer is not HTTP"),
    ],
)
async def test_an_answer_that_breaks_off_is_told(monkeypatch: pytest.MonkeyPatch, answer: bytes, why: str) -> None:
    async with RawServer(answer_and_close(answer)) as server:
        straight = await failure(server.url)
    async with RawServer(answer_and_close(answer)) as proxy:
        name_proxy(monkeypatch, proxy.url)
        error = await failure()
    assert (error.problem, error.why) == (straight.problem, straight.why) == ("broken", why)


async def test_silence_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(peer: Peer) -> None:
        await peer.gone()

    async with RawServer(talk) as proxy:
        name_proxy(monkeypatch, proxy.url)
        with pytest.raises(NetError) as caught:
            await send("GET", MODEL, headers={}, timeout=0.1)
        assert (caught.value.problem, caught.value.why) == ("silent", "nothing came for 0.1 s")
        await proxy.until(connections=1, open=0)


@pytest.mark.parametrize(
    "proxy",
    ["socks5://127.0.0.1:1080", "socks://h", "ftp://h:21", "http://", "http://h:99999", "http://[::1", "h:port"],
)
async def test_a_proxy_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    name_proxy(monkeypatch, proxy)
    error = await failure()
    assert error.problem == "unreachable"
    assert error.why.startswith("the proxy that the environment names is n")
    with pytest.raises(NetError, match="the proxy that the environment names"):
        ServerClient(MODEL)
    with pytest.raises(NetError, match="the proxy that the environment names"):
        await request("GET", "http://1.1.1.1/", near=MODEL)


def test_a_proxy_for_everything_is_the_last_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1080")
    monkeypatch.setenv("http_proxy", "proxy.example:3128")
    assert proxy_for(MODEL) == "http://proxy.example:3128"


# --- what is not written down ---


@pytest.mark.parametrize("module", ["server_client", "guarded", "httpx_client"])
@pytest.mark.slow
def test_whatever_sends_with_a_library_keeps_it_from_writing_addresses(module: str) -> None:
    program = f"""
import logging
logging.basicConfig(level=logging.DEBUG)
import pilothouse.net.{module}
print([logging.getLogger(name).getEffectiveLevel() for name in ("httpx2", "httpcore2", "httpcore2.http11")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == str([logging.WARNING] * 3)


async def test_no_way_out_writes_an_address_or_a_key_into_a_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    asyncio.get_running_loop().set_debug(True)
    url = f"http://user:{SECRET}@127.0.0.1:%d/{SECRET}?key={SECRET}"
    told = []
    for answer in (whole(b"hello"), whole(b"hello")[:-1], b"nonsense\r\n\r\n", OK + b"x: \0\r\n\r\n"):
        for through in (False, True):
            async with RawServer(answer_and_close(answer)) as server:
                with monkeypatch.context() as patch:
                    if through:
                        name_proxy(patch, server.url)
                        patch.setattr("pilothouse.net.proxies.is_loopback_host", lambda host: False)
                    try:
                        got = await fetch(url % server.port, headers={"x-key": SECRET}, timeout=5, limit=100)
                        told.append(got.body.decode())
                    except NetError as error:
                        told.append(repr(error))
    assert told.count("hello") == 2
    assert len(told) == 8
    assert SECRET not in caplog.text + "".join(told)
