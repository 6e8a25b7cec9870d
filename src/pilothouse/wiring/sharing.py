"""A command's own host, open to others: it listens from the start, and the web server comes with the first visitor."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from pilothouse.runs.address import remove_address, write_address
from pilothouse.server.listening import Listener
from pilothouse.server.stopping import Stop
from pilothouse.types import limits
from pilothouse.types.address import ServerAddress
from pilothouse.types.errors import PilothouseError
from pilothouse.wiring.host import OpenHost, bind

_log = logging.getLogger(__name__)


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
        await asyncio.to_thread(__import__, "pilothouse.server.run")
        from pilothouse.server.run import ServerOptions, serve

        try:
            await serve(self._host.api, self._listener, ServerOptions(local_token=self.address.token), self._stop)
        except Exception:
            _log.exception("other processes cannot use this host any more")

    async def drain(self, tell: Callable[[str], None]) -> None:
        """Wait for what visitors began here, within a bound; what is cut off goes on in one of their processes."""
        if self._serving is None or self._host.executor.idle.is_set():
            return
        tell("Others still wait for answers from this process. It ends when they have them; Ctrl-C ends it now.")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._host.executor.idle.wait(), limits.VISITORS_PATIENCE)

    async def end(self) -> None:
        """Stop listening and let go of every visitor."""
        if self._serving is None:
            asyncio.get_running_loop().remove_reader(self._listener.socket.fileno())
            self._listener.close()
            return
        self._stop.ask()
        await asyncio.wait([self._serving])
