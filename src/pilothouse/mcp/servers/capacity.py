"""Room for local servers: how many run side by side, and who may be stopped for another one."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pilothouse.mcp.client.start_errors import NoRoom
from pilothouse.types import limits

if TYPE_CHECKING:
    from pilothouse.mcp.servers.connection import Connection
    from pilothouse.mcp.servers.server import Server

_log = logging.getLogger(__name__)
_NAMED = 5


class Capacity:
    """A bounded number of places for processes. Whoever was called within its idle time keeps its place."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._taken: dict[Connection, Server] = {}
        self._refused: dict[Connection, Server] = {}
        self._moved: set[asyncio.Future[None]] = set()

    async def take(self, server: Server, connection: Connection) -> None:
        """Take a place, waiting for one that becomes free by itself; raise NoRoom when none does."""
        while len(self._taken) >= self._most():
            spare = next(self._spare(), None)
            if spare is not None:
                spare.rest()
                said = f"Stopped, when nobody needs it now, to make room for “{server.name}”."
                self._taken[spare].history.line("host", "info", said)
                _log.info("server %s: %s", self._taken[spare].name, said)
            elif all(each.stays_up for each in self._taken):
                self._refused[connection] = server
                raise self._full()
            await self._move()
        self._refused.pop(connection, None)
        self._taken[connection] = server

    def leave(self, connection: Connection) -> None:
        """Give a place back, if it had one; those that were refused one are told."""
        if self._taken.pop(connection, None) is None:
            return
        for moved in self._moved:
            if not moved.done():
                moved.set_result(None)
        refused, self._refused = self._refused, {}
        for each, server in refused.items():
            if server.current and server.entry.enabled:
                each.room(now=server.entry.config.always_on)

    async def _move(self) -> None:
        """Wait until a place was given back, but not for ever: one that starts may become one to spare."""
        moved = asyncio.get_running_loop().create_future()
        self._moved.add(moved)
        try:
            await asyncio.wait([moved], timeout=limits.ROOM_LOOKED)
        finally:
            self._moved.discard(moved)

    def _spare(self) -> Iterator[Connection]:
        """Yield those that nobody called within their idle time, the one that nobody used for longest first."""
        now = time.monotonic()
        for each in sorted(self._taken, key=lambda each: each.used):
            idle = self._taken[each].idle_stop
            if each.busy or not each.up or idle is None:
                continue
            if each.called_at is None or now - each.called_at >= idle:
                yield each

    def _full(self) -> NoRoom:
        free = sorted((each for each in self._taken if not each.busy), key=lambda each: each.used)
        names = list(dict.fromkeys(f"“{self._taken[each].name}”" for each in free))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        count = len(self._taken)
        running = "One local server runs" if count == 1 else f"{count} local servers run"
        why = f"It was not started: {running}, and no more may at once."
        if names:
            could = f"Could be stopped: {', '.join(names[:_NAMED])}{more}."
            fix = "Stop one of them, or allow more in Settings, MCP."
        else:
            could = "All of them are at work."
            fix = "Wait until one is done, or allow more in Settings, MCP."
        error = NoRoom(f"{why} {could}", fix=fix)
        error.outline = f"{why} The person can stop one or allow more."
        return error
