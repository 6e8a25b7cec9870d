"""Running the server: from a bound port to the last closed connection."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from pilothouse.host.address import remove_address, write_address
from pilothouse.host.service import HostService
from pilothouse.types import limits
from pilothouse.types.address import ServerAddress
from pilothouse.types.errors import PilothouseError
from pilothouse.web.app import make_app, make_probes
from pilothouse.web.built_page import PAGE_FOLDER, load_page
from pilothouse.web.http_protocol import HTTP_PROTOCOL
from pilothouse.web.listening import WILDCARDS, Listener
from pilothouse.web.origins import Origins, parse_host
from pilothouse.web.sessions import Access, Door
from pilothouse.web.signals import Stop
from pilothouse.web.watchdog import watching


@dataclass(frozen=True)
class Ready:
    """The server answers: where, and the link that signs one browser in, once."""

    url: str
    link: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """What a person may set about the server."""

    # Where the commands of this account find the server; None leaves no trace.
    home: Path | None = None
    # The token of this account's commands, when someone has said where we are already; else there is a new one.
    local_token: str = field(default="", repr=False)
    # PILOTHOUSE_TOKEN: a fixed bearer token for scripts.
    token: str = field(default="", repr=False)
    # PILOTHOUSE_METRICS_TOKEN: the bearer token that /metrics then takes; without one it is for this machine.
    metrics_token: str = field(default="", repr=False)
    # PILOTHOUSE_ALLOWED_HOSTS: further names this server answers to, behind a proxy for example.
    allowed_hosts: tuple[str, ...] = ()
    # What other servers of the same installation share; None where there are none.
    door: Door | None = None
    page: Path = PAGE_FOLDER
    # Ends what is at work; who looks on meanwhile sees it end.
    drain: Callable[[], Awaitable[None]] | None = None
    # Without it the page and the API are served; with it only whether the process lives, is ready, and how it does.
    probes_only: bool = False
    on_ready: Callable[[Ready], None] = lambda ready: None

    @classmethod
    def from_environment(
        cls,
        home: Path | None,
        on_ready: Callable[[Ready], None],
        *,
        drain: Callable[[], Awaitable[None]] | None = None,
        probes_only: bool = False,
        door: Door | None = None,
    ) -> ServerOptions:
        """Return the options that the environment sets."""
        names = os.environ.get("PILOTHOUSE_ALLOWED_HOSTS", "").replace(",", " ").split()
        token = os.environ.get("PILOTHOUSE_TOKEN", "").strip()
        return cls(
            home=None if probes_only else home,
            token=token,
            metrics_token=os.environ.get("PILOTHOUSE_METRICS_TOKEN", "").strip(),
            allowed_hosts=tuple(names),
            drain=drain,
            probes_only=probes_only,
            on_ready=on_ready,
            door=door,
        )


class _Server(uvicorn.Server):
    """uvicorn without its own idea of signals: `Stop` has them."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


async def serve(host: HostService, listener: Listener, options: ServerOptions, stop: Stop) -> None:
    """Serve until asked to stop; streams end at once, requests get a moment to finish."""
    with closing(listener), watching():
        origins = _origins(listener, options)
        local_token = options.local_token or secrets.token_urlsafe(32)
        tokens = tuple(filter(None, (options.token, local_token)))
        secure = listener.tls is not None
        access = Access(host.sessions, port=listener.port, tokens=tokens, secure=secure, door=options.door)
        app = _app(host, access, origins, options)
        server = _Server(_configure(app, listener))
        serving = asyncio.ensure_future(server.serve(sockets=[listener.socket]))
        looking = asyncio.ensure_future(access.look_after())
        try:
            await _started(server, serving)
            async with _address(options.home, _address_of(listener, local_token)):
                link = await access.new_link(listener.authority)
                options.on_ready(Ready(listener.url, link, listener.note))
                await _first(serving, asyncio.ensure_future(stop.wait()))
                # A balancer sends nothing new from here on, and whoever reads an answer sees its end.
                host.begin_draining()
                if options.drain is not None:
                    await options.drain()
        finally:
            access.close_streams()
            looking.cancel()
            server.should_exit = True
            await serving


def _app(host: HostService, access: Access, origins: Origins, options: ServerOptions) -> ASGIApp:
    if options.probes_only:
        return make_probes(host, access, origins, options.metrics_token)
    return make_app(host, access, origins, load_page(options.page), options.metrics_token)


def _address_of(listener: Listener, token: str) -> ServerAddress:
    pinned = listener.tls.fingerprint if listener.tls else ""
    where, process = listener.url, os.getpid()
    return ServerAddress(url=where, pid=process, token=token, certificate=pinned, exposed=listener.exposed)


@asynccontextmanager
async def _address(home: Path | None, address: ServerAddress) -> AsyncGenerator[None, None]:
    """Say where the server is for as long as it answers."""
    if home is None:
        yield
        return
    saying = asyncio.create_task(_say(home, address))
    # As a rule it is there now.
    await asyncio.sleep(0)
    try:
        yield
    finally:
        saying.cancel()
        await asyncio.wait([saying])
        remove_address(home)


async def _say(home: Path, address: ServerAddress) -> None:
    """Write the address down; a full disk has room later, and until then the page works without it."""
    while True:
        with suppress(OSError):
            return write_address(home, address)
        await asyncio.sleep(limits.STORE_RETRY)


async def _first(serving: asyncio.Future[None], stopping: asyncio.Future[Any]) -> None:
    try:
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()


async def _started(server: uvicorn.Server, serving: asyncio.Future[None]) -> None:
    while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn has a flag, not an event
        await asyncio.sleep(0.005)


def _origins(listener: Listener, options: ServerOptions) -> Origins:
    for name, token in (("PILOTHOUSE_TOKEN", options.token), ("PILOTHOUSE_METRICS_TOKEN", options.metrics_token)):
        if token and is_guessable(token):
            raise PilothouseError(
                "bad_config",
                f"{name} can be guessed: it takes {limits.TOKEN_CHARS} characters that someone drew by lot.",
                fix="Set one that `openssl rand -hex 16` prints, or leave it unset.",
            )
    for name in options.allowed_hosts:
        if parse_host(name) != name.lower():
            raise PilothouseError(
                "bad_config",
                f"PILOTHOUSE_ALLOWED_HOSTS has {name!r}, which is not a host name.",
                fix="List names only.",
            )
    own = () if listener.host in WILDCARDS else (listener.host,)
    return Origins((*own, *options.allowed_hosts), exposed=listener.exposed)


def is_guessable(token: str) -> bool:
    """Return whether a token is too short, or too much of one kind, to keep anybody out."""
    return len(token) < limits.TOKEN_CHARS or len(set(token)) < limits.TOKEN_DIFFERENT


def _configure(app: object, listener: Listener) -> uvicorn.Config:
    tls = listener.tls
    # Every failure is already one line in our log; uvicorn would add tracebacks that may hold secrets.
    for name in ("uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        loop="none",
        http=HTTP_PROTOCOL,
        ws="websockets-sansio",
        ws_max_size=limits.SOCKET_MESSAGE_BYTES,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=limits.KEEP_ALIVE,
        timeout_graceful_shutdown=limits.CONNECTION_GRACE,
        ssl_context_factory=(lambda _config, _default: tls.context) if tls is not None else None,
    )
