"""How long a call may take: a clock for silence that progress restarts, and a cap for the whole call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallTimes, Tool, ToolTimeouts


def call_times(tool: Tool, arguments: JsonObject, wanted: ToolTimeouts, context_window: int) -> CallTimes:
    """Return how long a call of a tool may take, by the person's word, the tool's own, and the model's window."""
    named = wanted.tools.get(tool.qualified_name, wanted.tools.get(tool.spec.name))
    own = named if named is not None or tool.server else wanted.default
    times = tool.times_for(arguments)
    if own is not None:
        times = CallTimes(own, max(own, times.total) if tool.server else own)
    return aligned(times, context_window) if wanted.align_with_model else times


def aligned(times: CallTimes, context_window: int) -> CallTimes:
    """Return the times held to what the model's window suggests; a cap beyond the time for silence stays."""
    model_time = min(context_window / 4 / 50, limits.ALIGNED_TIMEOUT_MAX)
    idle = min(times.idle, max(limits.ALIGNED_TIMEOUT_MIN, model_time))
    return CallTimes(idle, times.total if times.total > times.idle else idle)


class Deadline:
    """The clock of one call; it runs from its making until it is stopped."""

    def __init__(self, times: CallTimes, expired: Callable[[], None]) -> None:
        self._times = times
        self._expired = expired
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._silent_until = now + times.idle
        self._last = now + times.total
        self._timer = self._loop.call_at(self._end, self._look)

    @property
    def _end(self) -> float:
        return min(self._silent_until, self._last)

    @property
    def at(self) -> float:
        """Return when it will expire, in seconds since 1970."""
        return time.time() + self._end - self._loop.time()

    @property
    def allowed(self) -> float:
        """Return the limit that counts now: the time for silence, or for the whole call."""
        return self._times.idle if self._silent_until <= self._last else self._times.total

    def restart(self) -> None:
        """Something was heard: the clock for silence starts anew."""
        self._silent_until = self._loop.time() + self._times.idle

    def extend(self) -> None:
        """The person wants to wait: a whole time for silence more, also beyond the cap."""
        self.restart()
        self._last = max(self._last, self._silent_until)

    def stop(self) -> None:
        """Let it expire no more."""
        self._timer.cancel()

    def _look(self) -> None:
        # Progress only moves the end; the timer finds out when it comes to the old one.
        if self._end > self._loop.time():
            self._timer = self._loop.call_at(self._end, self._look)
        else:
            self._expired()
