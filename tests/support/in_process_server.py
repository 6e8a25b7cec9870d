"""Serves a host in the test's own process, and talks to it in ways that clients are too polite for."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
import pytest_asyncio
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from pilothouse.host.service import HostService
from pilothouse.host.sessions import Sessions
from pilothouse.timeline.feed import live_delta
from pilothouse.types.events import ItemCreated, ItemDelta
from pilothouse.types.host import all_verbs
from pilothouse.types.ids import new_id
from pilothouse.types.items import Item
from pilothouse.types.verbs import Verb
from pilothouse.web.guard import HALF, START
from pilothouse.web.listening import Listener, listen
from pilothouse.web.run import Ready, ServerOptions, serve
from pilothouse.web.signals import Stop
from pilothouse.wiring import OpenHost, open_host
from tests.support.waiting import eventually

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
        cookie = await sessions.create(STRANGER, f" {self.listener.port} half {start}.theirs")
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


class Called(NamedTuple):
    """A verb that reached the host."""

    name: str
    given: tuple[object, ...]


class Core:
    """The host under a server: what reaches it is written down, and things happen in it without a request."""

    def __init__(self, host: OpenHost) -> None:
        self.api = host.api
        self.feed = host.api._feed
        self.calls: list[Called] = []
        for noun, verb in all_verbs():
            self._write_down(getattr(host.api, noun), verb)

    def _write_down(self, service: Any, verb: Verb) -> None:
        method = getattr(service, verb.attribute)

        async def asked(owner: str, *given: object, **named: object) -> object:
            self.calls.append(Called(verb.name, given))
            return await method(owner, *given, **named)

        setattr(service, verb.attribute, asked)

    async def say(self, conversation_id: str, text: str) -> None:
        """Let something happen in a conversation: one event with this text."""
        said = Item(
            id=new_id("i"),
            conversation_id=conversation_id,
            run_id=None,
            kind="notice",
            status="completed",
            position=0,
            text=text,
            raw={"level": "info", "code": "test"},
            created_at=0.0,
            updated_at=0.0,
        )
        await self.api._records.append(conversation_id, [ItemCreated(item=said)], None)

    def stream(self, conversation_id: str, text: str) -> None:
        """Send a piece of text that is not kept."""
        self.feed.live(conversation_id, live_delta(ItemDelta(item_id="i_1", offset=0, text=text)))

    async def until_read(self, conversation_id: str) -> None:
        """Wait until someone reads a conversation and has all that was kept of it."""

        async def is_live() -> bool:
            return any(reader.live for reader in self.feed._readers.get(conversation_id, ()))

        await eventually(is_live, "a reader")

    async def until_left(self, conversation_id: str) -> None:
        """Wait until nobody reads a conversation."""

        async def is_left() -> bool:
            return not self.feed.is_read(conversation_id)

        await eventually(is_left, "the reader to leave")


@dataclass
class RunningServer(Reach):
    """A server over a host whose models answer from a script."""

    host: Core

    async def new_conversation(self) -> str:
        """Start a conversation of our own and forget that the host was asked."""
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
async def serve_host(
    host: HostService, options: ServerOptions, listener: Listener | None = None
) -> AsyncIterator[Reach]:
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
    stop.set()
    async with asyncio.timeout(PATIENCE):
        await serving


@asynccontextmanager
async def serve_folder(home: Path, port: int = 0) -> AsyncIterator[tuple[OpenHost, Reach]]:
    """Open a host on a data folder and serve it, as `pilothouse serve` does; yields both."""
    async with open_host(home, role="server") as host:
        options = ServerOptions(home=host.home.path, token=TOKEN)
        async with serve_host(host.api, options, listen(port=port)) as server:
            yield host, server


@asynccontextmanager
async def run_server(
    home: Path, *, options: ServerOptions | None = None, listener: Listener | None = None
) -> AsyncIterator[RunningServer]:
    """Serve a host of its own, which begins nothing unasked."""
    write_scripted_model(home)
    async with open_host(home, brief=True) as opened:
        host = Core(opened)
        async with serve_host(opened.api, options or ServerOptions(home=home, token=TOKEN), listener) as reached:
            yield RunningServer(**vars(reached), host=host)


def write_scripted_model(home: Path) -> None:
    """Give a host a model that says "Hello." to everything."""
    script = home / "script.json"
    script.write_text(json.dumps({"turns": ["Hello."] * 5}))
    scripted = {"name": "Scripted", "provider": "scripted", "model": str(script), "contextWindow": 8192}
    models = {"defaultModelId": "scripted", "models": {"scripted": scripted}}
    (home / "models.json").write_text(json.dumps(models))


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunningServer]:
    """A server with a tiny built page, a private home, and a secret beside both; a folder's conftest takes it over."""
    page, home = tmp_path / "page", tmp_path / "home"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text("<!doctype html><title>Pilothouse</title>")
    (page / "assets" / "main-a1B2c3D4.js").write_text("export {};")
    (tmp_path / "secret.txt").write_text("a secret beside the page")
    home.mkdir(mode=0o700)
    async with run_server(home, options=ServerOptions(home=home, token=TOKEN, page=page)) as running:
        yield running
