"""A host that others reach: a server's, and a command's own, whose web server comes with its first visitor."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from typing import Any

from pilothouse.host.address import remove_address, write_address
from pilothouse.types import limits
from pilothouse.types.address import ServerAddress
from pilothouse.types.errors import PilothouseError
from pilothouse.web.listening import Listener
from pilothouse.web.signals import Stop
from pilothouse.wiring.host import OpenHost, Role, open_host

_log = logging.getLogger(__name__)


async def run_server(
    listener: Listener,
    on_ready: Callable[[str, str, str], None],
    stop: Stop,
    *,
    role: Role = "server",
    slots: int | None = None,
    programs: bool = True,
) -> None:
    """Open a host and serve it on a bound port until it is told to stop; say its address, a link and a note first."""
    from pilothouse import __version__
    from pilothouse.secrets.redaction import keep_private
    from pilothouse.web.open_files import raise_limit
    from pilothouse.web.run import Ready, ServerOptions, serve
    from pilothouse.wiring.housekeeping import giving_back

    def ready(now: Ready) -> None:
        at_once = "slots as set" if slots is None else f"{slots} slots"
        works = "no slots" if role == "web" else at_once if programs else f"{at_once}, no programs"
        _log.info("Pilothouse %s began: role %s, %s, at %s", __version__, role, works, now.url)
        on_ready(now.url, now.link, " ".join(filter(None, (now.note, few_files, host.note))))

    keep_private()
    few_files = raise_limit()
    with closing(listener), _folder_of_its_own():
        async with giving_back(), open_host(role=role, slots=slots, programs=programs) as host:
            # A worker has no page, so nobody signs in to it.
            door = await host.door() if host.door is not None and role != "worker" else None
            options = ServerOptions.from_environment(
                host.home.path, ready, drain=host.drain, probes_only=role == "worker", door=door
            )
            try:
                await serve(host.api, listener, options, stop)
            finally:
                _log.info("Pilothouse %s ends: role %s, at %s", __version__, role, listener.url)


@contextmanager
def _folder_of_its_own() -> Iterator[None]:
    """Keep other servers off the folder where its database is elsewhere; SQLite's own lock keeps everyone off.

    They would write one log, find each other's address in place of their own and take it away when they end, and share
    caches that each believes to be its own. Commands beside a server are no harm.
    """
    if not os.environ.get("PILOTHOUSE_DATABASE_URL"):
        yield
        return
    from pilothouse.settings.home import open_home
    from pilothouse.store.lock import FolderLock

    lock = FolderLock(open_home(None).path, "serving.lock")
    lock.acquire()
    try:
        yield
    finally:
        lock.release()


def bind(
    host: str,
    port: int | None,
    *,
    expose_to_network: bool,
    rather: int | None = None,
    certificate: tuple[str | None, str | None] = (None, None),
    role: Role = "server",
) -> Listener:
    """Take a port for a server: the one that it should rather have, if that is free; the files are for TLS."""
    from pilothouse.web.listening import listen
    from pilothouse.web.tls import read_tls

    tls = read_tls(*certificate)
    if rather is not None:
        with suppress(PilothouseError):
            return listen(host, rather, expose_to_network=expose_to_network, tls=tls)
    usual = limits.WORKER_PORT if role == "worker" else None
    return listen(host, port, expose_to_network=expose_to_network, tls=tls, usual=usual)


def folder_holder() -> str:
    """Return in a sentence who has the data folder, empty when nobody does."""
    from pilothouse.settings.home import home_path
    from pilothouse.store.lock import FolderLock

    try:
        return FolderLock(home_path()).holder()
    except OSError:
        # There is no folder yet, or none that one could have.
        return ""


async def unreachable(url: str) -> str:
    """Return in a few words why nothing answers at an address, empty when something does."""
    from pilothouse.net.client import knock

    error = await knock(url, limits.KNOCK_TIMEOUT)
    return error.why if error is not None else ""


async def unless_stopped(work: asyncio.Future[Any], stop: Stop) -> bool:
    """Wait for some work and return True, or give it up and return False when the program is told to stop."""
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
    for one in (work, stopping):
        one.cancel()
    return work.done() and not work.cancelled()


def page_is_built() -> bool:
    """Return whether there is a page to serve."""
    from pilothouse.web.built_page import load_page

    return bool(load_page())


def embedded_is_installed() -> bool:
    """Return whether the model that answers without a key is there."""
    from pilothouse.models.embedded import embedded_available

    return embedded_available()


@asynccontextmanager
async def receiving(host: OpenHost, port: int, tell: Callable[[str], None]) -> AsyncGenerator[None, None]:
    """Let other processes on the folder use this host; at the end, let them finish what they began.

    Where nothing can be listened on or written, the host is for this process alone.
    """
    try:
        # Where the one before was, if there was one: an open page finds us there.
        listener = bind("127.0.0.1", 0, expose_to_network=False, rather=port or None)
    except PilothouseError as error:
        _log.warning("nobody else can use this host: %s", error.message)
        yield
        return
    reception = _Reception(host, listener)
    try:
        write_address(host.home.path, reception.address)
    except OSError as error:
        _log.warning("nobody else can find this host: %s", error.strerror)
    reception.begin()
    try:
        yield
        await reception.drain(tell)
    finally:
        remove_address(host.home.path)
        await reception.end()
    # What came in at the last moment is answered here as well; whoever sent it reads it where it is kept.
    await reception.drain(tell)


class _Reception:
    """A port that waits for its first visitor, and then the server on it."""

    def __init__(self, host: OpenHost, listener: Listener) -> None:
        self._host = host
        self._listener = listener
        self._stop = Stop()
        self._serving: asyncio.Task[None] | None = None
        self.address = ServerAddress(url=listener.url, pid=os.getpid(), token=secrets.token_urlsafe(32), kind="command")

    def begin(self) -> None:
        """Wait for the first visitor; until then nothing of the web server is imported."""
        asyncio.get_running_loop().add_reader(self._listener.socket.fileno(), self._come)

    def _come(self) -> None:
        # The visitor waits in the listening socket's queue until the server takes it over.
        asyncio.get_running_loop().remove_reader(self._listener.socket.fileno())
        self._serving = asyncio.create_task(self._serve(), name="visitors")

    async def _serve(self) -> None:
        # In a thread: whoever reads an answer here meanwhile is not held up.
        await asyncio.to_thread(__import__, "pilothouse.web.run")
        from pilothouse.web.run import ServerOptions, serve

        try:
            await serve(self._host.api, self._listener, ServerOptions(local_token=self.address.token), self._stop)
        except Exception:
            _log.exception("other processes cannot use this host any more")

    async def drain(self, tell: Callable[[str], None]) -> None:
        """Wait for what visitors began here, within a bound; what is cut off goes on in one of their processes."""
        if self._serving is None or self._host.executor.idle.is_set():
            return
        tell("Others still wait for answers from this process. It ends when they have them; Ctrl-C ends it now.")
        with suppress(TimeoutError):
            await asyncio.wait_for(self._host.executor.idle.wait(), limits.VISITORS_PATIENCE)

    async def end(self) -> None:
        """Stop listening and let go of every visitor."""
        if self._serving is None:
            asyncio.get_running_loop().remove_reader(self._listener.socket.fileno())
            self._listener.close()
            return
        self._stop.set()
        await asyncio.wait([self._serving])
