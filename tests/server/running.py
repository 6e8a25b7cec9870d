"""Starting the server in a test, and talking to it in ways that clients are too polite for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from pilothouse.server.guard import HALF, START
from pilothouse.server.listening import Listener, listen
from pilothouse.server.run import Ready, ServerOptions, serve
from pilothouse.server.stopping import Stop
from pilothouse.types.host import HostApi, Sessions
from tests.server.memory_host import MemoryHost

TOKEN = "a-fixed-token-for-scripts"
STRANGER = "someone else"
BEARER = {"authorization": f"Bearer {TOKEN}"}
PATIENCE = 20.0


@dataclass
class Raw:
    """An answer as it came over the socket."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Reach:
    """A server under test and the ways to reach it."""

    listener: Listener
    ready: Ready
    stop: Stop
    http: httpx2.AsyncClient
    home: Path
    serving: asyncio.Future[None]

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.listener.port}"

    @property
    def cookie_name(self) -> str:
        return f"pilothouse_{self.listener.port}"

    async def raw(self, data: bytes) -> Raw:
        """Send bytes and read the answer until the server closes or the answer is whole."""
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.listener.port)
            try:
                writer.write(data)
                await writer.drain()
                return await read_answer(reader)
            finally:
                writer.close()

    async def new_conversation(self) -> str:
        """Start a conversation of our own."""
        answer = await self.http.post("/api/conversations", json={}, headers=BEARER)
        assert answer.status_code == 201
        return str(answer.json()["id"])

    async def sign_in(self) -> dict[str, str]:
        """Use a one-time link like the page does, and return the headers of a signed-in browser."""
        link = (await self.http.post("/api/link", headers=BEARER)).json()["url"]
        answer = await self.http.post("/api/session", json={"code": link.partition("#code=")[2]})
        assert answer.status_code == 200
        session = {"cookie": answer.headers["set-cookie"].partition(";")[0], HALF: answer.json()["half"]}
        return {**session, "sec-fetch-site": "same-origin", "origin": f"http://{self.authority}"}

    async def stranger(self, sessions: Sessions) -> dict[str, str]:
        """Return the headers of a browser that is someone else's."""
        start = (await self.http.get("/api/models")).headers[START]
        cookie = await sessions.create_session(STRANGER, f" {self.listener.port} half {start}.theirs")
        session = {"cookie": f"{self.cookie_name}={cookie}", HALF: f"{start}.theirs"}
        return {**session, "sec-fetch-site": "same-origin", "origin": f"http://{self.authority}"}

    @asynccontextmanager
    async def socket(
        self, headers: Mapping[str, str] = BEARER, offering: Sequence[Subprotocol] | None = None
    ) -> AsyncIterator[ClientConnection]:
        async with connect(
            f"ws://{self.authority}/api/ws",
            additional_headers=dict(headers),
            subprotocols=offering,
            proxy=None,
            open_timeout=PATIENCE,
        ) as socket:
            yield socket


@dataclass
class RunningServer(Reach):
    """A server over a core in memory, which tells what reached it."""

    host: MemoryHost

    async def new_conversation(self) -> str:
        """Start a conversation of our own and forget that the core was asked."""
        made = await super().new_conversation()
        self.host.calls.clear()
        return made


def complaints(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return what was logged as wrong; clients in the same process log what they do as well."""
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


async def read_answer(reader: asyncio.StreamReader) -> Raw:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = [line.partition(":") for line in head[1:] if line]
    headers = {name.lower(): value.strip() for name, _, value in fields}
    length = int(headers.get("content-length", "0"))
    return Raw(int(head[0].split()[1]), headers, await reader.readexactly(length))


@asynccontextmanager
async def reach(host: HostApi, options: ServerOptions, listener: Listener | None = None) -> AsyncIterator[Reach]:
    """Serve a core for as long as the block lasts."""
    stop, listener = Stop(), listener or listen(port=0)
    ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(serve(host, listener, replace(options, on_ready=ready.set_result), stop))
    waited: set[asyncio.Future[Any]] = {serving, ready}
    await asyncio.wait(waited, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        serving.result()
    async with httpx2.AsyncClient(base_url=listener.url, timeout=PATIENCE, trust_env=False) as http:
        yield Reach(listener, await ready, stop, http, options.home or Path(), serving)
    stop.ask()
    async with asyncio.timeout(PATIENCE):
        await serving


@asynccontextmanager
async def run_server(
    home: Path, *, options: ServerOptions | None = None, listener: Listener | None = None
) -> AsyncIterator[RunningServer]:
    """Serve a core in memory."""
    host = MemoryHost()
    async with reach(host, options or ServerOptions(home=home, token=TOKEN), listener) as reached:
        yield RunningServer(**vars(reached), host=host)


@asynccontextmanager
async def run_server_with_page(folder: Path) -> AsyncIterator[RunningServer]:
    """Run a server with a tiny built page, a private home, and a secret beside both."""
    page, home = folder / "page", folder / "home"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text("<!doctype html><title>Pilothouse</title>")
    (page / "assets" / "main-a1B2c3D4.js").write_text("export {};")
    (folder / "secret.txt").write_text("a secret beside the page")
    home.mkdir(mode=0o700)
    async with run_server(home, options=ServerOptions(home=home, token=TOKEN, page=page)) as running:
        yield running
