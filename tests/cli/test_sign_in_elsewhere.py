"""Servers out in the open that lead a sign-in inside: to this machine, or into the network that it is in."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import assert_told
from tests.support.certificates import SelfSigned
from tests.support.commands import Screen, pilothouse_process
from tests.support.fake_issuer import Issuer, OneTool

# Most of these start a process.
pytestmark = pytest.mark.slow

PATIENCE = 20.0
SERVER, ISSUER = "mcp.example", "issuer.example"


class OutThere:
    """A server and its issuer under names of the open net, reached through a proxy as in many an office."""

    def __init__(self, folder: Path) -> None:
        self._certificate = SelfSigned(folder, more=(SERVER, ISSUER))
        self.issuer = Issuer()
        self.server = OneTool(self.issuer)
        self.issuer.url, self.server.url = f"https://{ISSUER}", f"https://{SERVER}"
        self.asked_for: list[str] = []
        self.environment = {"SSL_CERT_FILE": str(self._certificate.path)}

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        host = head.split()[1].decode().partition(":")[0]
        self.asked_for.append(host)
        behind = {SERVER: self.server, ISSUER: self.issuer}.get(host)
        if behind is None:
            writer.write(b"HTTP/1.1 502 Nobody\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            writer.close()
            return
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await writer.drain()
        await writer.start_tls(self._certificate.server())
        await behind.serve(reader, writer)


@pytest.fixture
def out_there(tmp_path: Path) -> Iterator[OutThere]:
    """Both of them, in a thread of their own."""
    made = OutThere(tmp_path)
    loop, ready, over = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with await asyncio.start_server(made.handle, "127.0.0.1", 0) as listening:
            made.environment["HTTPS_PROXY"] = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(PATIENCE)
    yield made
    loop.call_soon_threadsafe(over.set)
    thread.join()
    loop.close()


def test_a_server_out_in_the_open_is_signed_in_to(home: Path, out_there: OutThere) -> None:
    told = pilothouse_process(home, "mcp", "add", "--name", "One", out_there.server.mcp, **out_there.environment)
    assert "asks you to sign in" in told.err
    with Screen(home, ["mcp", "sign-in", "one", "--no-browser"], **out_there.environment) as screen:
        screen.until(f"One asks you to sign in at {ISSUER}.")
        screen.until(f"https://{ISSUER}/authorize")
        # A Ctrl-C before the prompt stands can be lost between two ways of reading it.
        screen.until("Or paste where you were sent back to")
        screen.type("\x03")
        screen.ended()


def _about(**fields: object) -> Callable[[OutThere], None]:
    return lambda made: made.issuer.about.update(fields)


def _describes(where: str) -> Callable[[OutThere], None]:
    def arrange(made: OutThere) -> None:
        made.server.challenge = f'Bearer resource_metadata="{where}"'

    return arrange


def _issued_by(where: str) -> Callable[[OutThere], None]:
    return lambda made: made.server.about.update(authorization_servers=[where])


LEADS_INSIDE: dict[str, tuple[Callable[[OutThere], None], str]] = {
    "a page here": (_about(authorization_endpoint="http://127.0.0.1:7420/authorize"), "nothing is sent there"),
    "a page here by name": (_about(authorization_endpoint="https://localhost/authorize"), "nothing is sent there"),
    "a page near": (_about(authorization_endpoint="https://192.168.1.1/authorize"), "nothing is sent there"),
    "a description here": (_describes("http://127.0.0.1:9/about"), "which could not be asked"),
    "a description in a cloud": (_describes("https://169.254.169.254/latest"), "which could not be asked"),
    "an issuer here": (
        lambda made: made.server.about.update(authorization_servers=["http://127.0.0.1:9"]),
        "127.0.0.1:9",
    ),
    "a registration here": (_about(registration_endpoint="http://127.0.0.1:9/register"), "nothing is sent there"),
    "tokens here": (_about(token_endpoint="http://127.0.0.1:9/token"), "nothing is sent there"),
    "tokens near": (_about(token_endpoint="https://192.168.1.1/token"), "nothing is sent there"),
    "tokens without encryption": (_about(token_endpoint="http://issuer.example/token"), "only https addresses"),
}


@pytest.mark.case("OAUTH-02", "NET-01")
@pytest.mark.parametrize("kind", LEADS_INSIDE)
def test_it_leads_nobody_inside(home: Path, out_there: OutThere, kind: str) -> None:
    arrange, sentence = LEADS_INSIDE[kind]
    arrange(out_there)
    pilothouse_process(home, "mcp", "add", "--name", "One", out_there.server.mcp, **out_there.environment)
    told = pilothouse_process(home, "mcp", "sign-in", "one", "--no-browser", **out_there.environment)
    assert_told(told, 1, sentence)
    assert "Open this address" not in told.err
    assert set(out_there.asked_for) <= {SERVER, ISSUER}
    assert not out_there.issuer.requests_to("/authorize")
