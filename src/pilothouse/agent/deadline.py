"""How long a call may take, and how long nothing may be heard of it before people are told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec

from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallTimes, Tool
from pilothouse.types.timeouts import ToolTimeouts


def call_times(tool: Tool, arguments: JsonObject, wanted: ToolTimeouts, context_window: int) -> CallTimes:
    """Return how long a call of a tool may take, by the person's word, the tool's own, and the model's window.

    The window says nothing about a stranger's server: its tools have the time that they were given.
    """
    named = wanted.tools.get(tool.qualified_name, wanted.tools.get(tool.spec.name))
    own = named if named is not None or tool.server else wanted.default
    times = tool.times_for(arguments)
    if own is not None:
        times = msgspec.structs.replace(times, total=own)
    if tool.server or not wanted.align_with_model:
        return times
    return msgspec.structs.replace(times, total=aligned(times.total, context_window))


def aligned(seconds: float, context_window: int) -> float:
    """Return a tool's time held to what the model's window suggests."""
    model_time = min(context_window / 4 / 50, limits.ALIGNED_TIMEOUT_MAX)
    return min(seconds, max(limits.ALIGNED_TIMEOUT_MIN, model_time))


class Deadline:
    """The clock of one call; it runs from its making until it is stopped."""

    def __init__(self, seconds: float, expired: Callable[[], None]) -> None:
        self._seconds = seconds
        self._expired = expired
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self.begin()

    @property
    def at(self) -> float | None:
        """Return when it will expire, in seconds since 1970; None while it is held."""
        return None if self._timer is None else time.time() + self._end - self._loop.time()

    @property
    def allowed(self) -> float:
        """Return how long the call was given in all."""
        return round(self._end - self._began, 1) if self._extended else self._seconds

    def begin(self) -> None:
        """Let it run from now on, with all of its time."""
        self.stop()
        self._extended = False
        self._began = self._loop.time()
        self._end = self._began + self._seconds
        self._timer = self._loop.call_at(self._end, self._look)

    def extend(self) -> None:
        """The person wants to wait: all of its time once more from now on."""
        self._extended = True
        self._end = max(self._end, self._loop.time() + self._seconds)

    def stop(self) -> None:
        """Let it expire no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        # Being given more time only moves the end; the timer finds out when it comes to the old one.
        if self._end > self._loop.time():
            self._timer = self._loop.call_at(self._end, self._look)
        else:
            self._expired()


class SilenceTimer:
    """Tells when nothing was heard for a while, and when something is heard again after that."""

    def __init__(self, after: float, tell: Callable[[float | None], None]) -> None:
        self._after = after
        # Is given since when nothing was heard, in seconds since 1970; None when that is over.
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._heard = self._loop.time()
        self._told = False
        self._timer: asyncio.TimerHandle | None = None

    def heard(self) -> None:
        """Take a sign; thousands of them cost next to nothing."""
        self._heard = self._loop.time()
        if self._told:
            self._told = False
            self._tell(None)
        if self._timer is None:
            self._timer = self._loop.call_at(self._heard + self._after, self._look)

    def accept(self) -> None:
        """The person knows and waits: nothing is told of this silence any more."""
        if self._told:
            self._told = False
            self._tell(None)

    def stop(self) -> None:
        """Listen no more, until the next sign."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._heard + self._after > self._loop.time():
            self._timer = self._loop.call_at(self._heard + self._after, self._look)
        else:
            self._told = True
            self._tell(time.time() + self._heard - self._loop.time())
