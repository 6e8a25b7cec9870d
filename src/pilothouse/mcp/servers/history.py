"""What is kept about a server for people to look at: its words, calls, states and errors."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from pilothouse.types import limits
from pilothouse.types.servers import Latency, LogLine, ServerState, StateChange

if TYPE_CHECKING:
    from pilothouse.mcp.servers.logbook import Log

LogSource = Literal["stderr", "logging", "stdout", "host"]


class History:
    """The newest of everything, bounded and without secrets."""

    def __init__(self, redact: Callable[[str], str], log: Log | None = None) -> None:
        self._redact = redact
        # Where the lines outlive us.
        self._log = log
        self._began = time.time()
        self._recalled = log is None
        self.lines: deque[LogLine] = deque(maxlen=limits.SERVER_LOG_LINES)
        self.calls: deque[Latency] = deque(maxlen=limits.SERVER_CALLS_KEPT)
        self.states: deque[StateChange] = deque(maxlen=limits.SERVER_STATES_KEPT)
        self.errors: deque[LogLine] = deque(maxlen=limits.SERVER_ERRORS_KEPT)

    def line(self, source: LogSource, level: str, text: str) -> None:
        """Keep what a server wrote, or what we have to say about it."""
        # Cut after it was masked: half a secret would not be known as one.
        said = self._redact(text[: 2 * limits.SERVER_LOG_CHARS])[: limits.SERVER_LOG_CHARS]
        line = LogLine(at=time.time(), source=source, level=level, text=said)
        self.lines.append(line)
        if self._log is not None:
            self._log.write(line)

    async def recall(self) -> None:
        """Put the lines of earlier times before those of now."""
        if self._recalled or self._log is None:
            return
        self._recalled = True
        earlier = [line for line in await asyncio.to_thread(self._log.read) if line.at < self._began]
        room = limits.SERVER_LOG_LINES - len(self.lines)
        if room > 0:
            self.lines.extendleft(reversed(earlier[-room:]))

    def error(self, text: str) -> None:
        """Keep what went wrong, in the log as well."""
        self.line("host", "error", text)
        self.errors.append(self.lines[-1])

    def state(self, state: ServerState, reason: str = "") -> None:
        """Keep that the server came into a state."""
        if not self.states or self.states[-1].state != state:
            self.states.append(StateChange(at=time.time(), state=state, reason=self._redact(reason)))

    def call(self, tool: str, seconds: float, *, ok: bool) -> None:
        self.calls.append(Latency(at=time.time(), tool=tool, seconds=round(seconds, 6), ok=ok))
