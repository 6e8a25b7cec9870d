"""One connection to a server, held by one task that opens, watches, reopens and closes it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.start_errors import NoRoom, needs_person
from pilothouse.mcp.servers.roots import SharedFolders
from pilothouse.types import limits
from pilothouse.types.servers import ServerState

if TYPE_CHECKING:
    from pilothouse.mcp.client.session import Session
    from pilothouse.mcp.client.transports.stdio import Stdio
    from pilothouse.mcp.servers.server import Server

Signal = Literal["stop", "now", "relist"]


class Connection:
    """Connects when it is first needed; after that it keeps the connection up, or says why it cannot."""

    def __init__(self, server: Server, folders: SharedFolders | None = None) -> None:
        self._server = server
        self.session: Session | None = None
        # Of those who call over it.
        self.folders = folders or SharedFolders()
        self.state: ServerState = "idle"
        self.restarts = 0
        self.connected_at: float | None = None
        self.checked_at: float | None = None
        self.error: ChannelError | None = None
        self._process: Stdio | None = None
        # When a call was last under way, on the monotonic clock; None when there was none.
        self.called_at: float | None = None
        self._used = time.monotonic()
        self._calls = 0
        self._tries = 0
        self._parked_at: float | None = None
        self._up_since = 0.0
        self._listed = 0.0
        self._task: asyncio.Task[None] | None = None
        self._opening = False
        self._stopping = False
        self._leaving = False
        self._waiting: list[asyncio.Future[Session]] = []
        self._signals: set[Signal] = set()
        self._wake: asyncio.Future[None] | None = None

    @property
    def up(self) -> bool:
        """Return whether calls can be made right now."""
        return self.session is not None and not self.session.closed.done()

    @property
    def stopped(self) -> bool:
        """Return whether it was closed for good."""
        return self._stopping

    @property
    def at_work(self) -> bool:
        """Return whether it is up, on its way up or down, or waited for."""
        return self._task is not None and not self._task.done()

    @property
    def stays_up(self) -> bool:
        """Return whether it is up and stays so by itself; otherwise its place may soon be free."""
        return self.up and (self.busy or not (self._stopping or self._leaving or "stop" in self._signals))

    @property
    def busy(self) -> bool:
        """Return whether a call is under way, or waits for the person's answer."""
        return self._calls > 0 or (self.session is not None and self.session.paused_count > 0)

    @property
    def used(self) -> float:
        """Return when it was last needed, on the monotonic clock."""
        return self._used

    async def get(self) -> Session:
        """Return the session, connecting if need be; raise the ChannelError of the first try that fails."""
        self._used = time.monotonic()
        if self.session is not None and self.up:
            return self.session
        if self._parked_at is not None:
            lately = time.monotonic() - self._parked_at < limits.PARKED_RETRY
            # What the person must put right may be right by now; what broke again and again gets some rest.
            if lately and self.error is not None and not needs_person(self.error):
                raise self.error
            # One try, no more: those it had are used up.
            self._tries = len(self._server.backoff)
        waiting: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._begin()
        try:
            return await waiting
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def retry(self) -> None:
        """Forget past failures and connect now."""
        self._tries = 0
        self._parked_at = None
        self._begin()

    def room(self, *, now: bool) -> None:
        """There may be room for it: connect now, or forget that there was none until it is needed."""
        if now:
            self.retry()
        elif not self.at_work and isinstance(self.error, NoRoom):
            self._parked_at = None
            self._set_state("idle", None)

    def tools_changed(self) -> None:
        """The server says that its tools are others now."""
        self._signal("relist")

    def rest(self) -> None:
        """Close the connection until it is needed again, if nobody needs it now."""
        self._signal("stop")

    def leave(self) -> None:
        """Close the connection for good once its last call ended; nobody begins one on it any more."""
        self._leaving = True
        self._signal("stop")

    @contextmanager
    def using(self) -> Iterator[None]:
        """Keep the connection from being stopped or tested while a call is under way."""
        self._calls += 1
        self.called_at = time.monotonic()
        try:
            yield
        finally:
            self._calls -= 1
            self._used = self.called_at = time.monotonic()
            if self._leaving:
                self._signal("stop")

    def started(self, process: Stdio) -> None:
        """Hear which process is behind it from now on."""
        self._process = process

    @property
    def process(self) -> Stdio | None:
        """Return the process behind it, while calls can be made."""
        return self._process if self.up else None

    async def stop(self) -> None:
        """Close the connection; calling it twice is fine."""
        self._stopping = True
        task = self._task
        if task is None or task.done():
            return
        if self._opening:
            self._hurry()
            task.cancel()
        else:
            self._signal("stop")
            await asyncio.wait([task], timeout=limits.STOP_POLITELY)
            if not task.done():
                self._hurry()
        await asyncio.wait([task])

    def _hurry(self) -> None:
        """Tell a process to end that does not end by itself."""
        if self._process is not None:
            self._process.hurry()

    # --- the task that holds it ---

    def _begin(self) -> None:
        if self._stopping:
            self._refuse(ChannelError("The server was stopped.", sent=False))
        elif self._task is None or self._task.done():
            self._parked_at = None
            self._signals.clear()
            self._task = asyncio.create_task(self._run(), name="mcp-server")
        else:
            self._signal("now")

    def _signal(self, signal: Signal) -> None:
        self._signals.add(signal)
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def _run(self) -> None:
        try:
            while True:
                try:
                    session = await self._open()
                except ChannelError as error:
                    self._refuse(error)
                    # Who could not wait has been told.
                    self._signals.discard("now")
                    broken: ChannelError | None = error
                else:
                    broken = await self._watch(session)
                    self.session = None
                    await session.close()
                    self._server.connection_closed(self)
                    if broken is not None:
                        self._server.connection_lost(broken)
                if broken is not None and not self._again(broken):
                    return
                if broken is None or not await self._pause():
                    self._set_state("idle", None)
                    # Someone may have come while it was being closed.
                    if self._stopping or not self._waiting:
                        return
                    self._signals.clear()
        except asyncio.CancelledError:
            # Stopped in the middle of connecting.
            if not self._stopping:
                raise
            self._set_state("idle", None)
        finally:
            self.session = None
            self._server.connection_closed(self)
            self._refuse(self.error or ChannelError("The server was stopped.", sent=False))

    async def _open(self) -> Session:
        self._set_state("reconnecting" if self._tries else "connecting", self.error)
        self._opening = True
        # It worked once; whether it does now is not known yet.
        self._up_since = 0.0
        try:
            session = await self._server.open(self)
        except BaseException:
            self._server.connection_closed(self)
            raise
        finally:
            self._opening = False
        self.session = session
        self.connected_at, self._up_since = time.time(), time.monotonic()
        self._used = self._listed = time.monotonic()
        self._set_state("connected", None)
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(session)
        return session

    def _again(self, error: ChannelError) -> bool:
        """Return whether to try again after a failure; the state says so."""
        worked = bool(self._up_since)
        if worked and time.monotonic() - self._up_since >= limits.HEALTHY_AFTER:
            self._tries = 0
        self._up_since = 0.0
        # What ended a connection that had worked says little about the next one.
        is_final = not worked and needs_person(error)
        if is_final or self._tries >= len(self._server.backoff):
            self._parked_at = time.monotonic()
            self._set_state("error" if is_final else self._server.parked_state, error)
            self._server.gave_up(error)
            return False
        self._tries += 1
        self.restarts += 1
        self._set_state("reconnecting", error)
        return True

    async def _pause(self) -> bool:
        """Wait before the next try, or until someone cannot wait; return False when it is to stop."""
        # Many servers that went away together do not come back together.
        varied = random.uniform(1 - limits.BACKOFF_JITTER, 1 + limits.BACKOFF_JITTER)  # noqa: S311
        asked = (self.error.retry_after if self.error is not None else None) or 0.0
        await self._sleep(max(self._server.backoff[self._tries - 1] * varied, asked))
        stop = "stop" in self._signals
        self._signals.clear()
        return not stop

    async def _sleep(self, seconds: float, *others: asyncio.Future[Any]) -> None:
        """Wait, but not longer than until someone signals something or one of the others is done."""
        if self._signals:
            return
        self._wake = asyncio.get_running_loop().create_future()
        first = asyncio.FIRST_COMPLETED
        await asyncio.wait([self._wake, *others], timeout=max(0.0, seconds), return_when=first)

    async def _watch(self, session: Session) -> ChannelError | None:
        """Return why the connection broke; None when it was stopped or nobody needs it."""
        health_at, relist_at = time.monotonic() + limits.HEALTH_EVERY, float("inf")
        while True:
            await self._sleep(min(health_at, relist_at, self._idle_at()) - time.monotonic(), session.closed)
            signals, self._signals = self._signals, set()
            # Whoever has come since it was to rest needs it.
            if self._stopping or ("stop" in signals and not self.busy):
                return None
            if session.closed.done():
                return None if self._leaving else session.closed.result() or ChannelError("The connection ended.")
            if "relist" in signals:
                # A server that cries change all the time is heard once a second.
                relist_at = self._listed + limits.RELIST_EVERY
            relist_at = await self._relist(session, relist_at)
            now = time.monotonic()
            if now >= self._idle_at() and not self.busy:
                return None
            if now >= health_at:
                health_at = now + limits.HEALTH_EVERY
                # A server may do one thing at a time: while a call runs, silence proves nothing.
                if not self.busy and (ill := await self._health(session)) is not None:
                    return ill

    def _idle_at(self) -> float:
        after = self._server.idle_stop
        return self._used + after if after is not None and not self.busy else float("inf")

    async def _relist(self, session: Session, at: float) -> float:
        """Ask for its tools if it is time; return when that is."""
        if time.monotonic() < at:
            return at
        self._listed = time.monotonic()
        await self._server.relist(session)
        return float("inf")

    async def _health(self, session: Session) -> ChannelError | None:
        """Ask for a sign of life; None also when there was no time to wait for one."""
        ping = asyncio.ensure_future(self._server.check(session))
        await self._sleep(limits.HEALTH_ANSWER, ping, session.closed)
        if not ping.done():
            ping.cancel()
            await asyncio.wait([ping])
            # A call that has begun since may be what keeps it from answering.
            if self._signals or self.busy or session.closed.done():
                return None
            return ChannelError(f"It did not answer the health check within {limits.HEALTH_ANSWER:g} s.")
        error = ping.exception()
        if error is not None:
            return error if isinstance(error, ChannelError) else ChannelError(f"The health check failed: {error}.")
        self.checked_at = time.time()
        return None

    def _set_state(self, state: ServerState, error: ChannelError | None) -> None:
        self.state = state
        self.error = error
        self._server.state_changed(state, error)

    def _refuse(self, error: ChannelError) -> None:
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_exception(error)
