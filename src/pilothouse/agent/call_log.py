"""What becomes of tool calls, in the log: a line for each step, with ids, never with arguments or results."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Literal

from pilothouse.types import limits
from pilothouse.types.items import Call
from pilothouse.types.json import JsonObject

_log = logging.getLogger(__name__)
# A model may call a tool by any name; a line of the log is no place for all of it.
_NAME_CHARS = 128
Step = Literal["requested", "waiting", "executing", "stopped", "ended"]


class CallLog:
    """The steps of a run's calls: those of a round are one record of several lines, unless a call takes its time."""

    def __init__(self) -> None:
        self._lines: list[tuple[float, JsonObject]] = []
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, step: Step, call: Call, **more: object) -> None:
        """Note that a call came to a step."""
        if not _log.isEnabledFor(logging.INFO):
            return
        facts: JsonObject = {
            "step": step,
            "conversation": call.conversation_id,
            "run": call.run_id,
            "call": call.id,
            "tool": call.data.tool[:_NAME_CHARS],
            "server": call.data.server,
            **more,
        }
        self._lines.append((time.time(), facts))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(limits.CALL_LOGGED, self.write)

    def write(self) -> None:
        """Write what was noted."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        steps = ", ".join(str(facts["step"]) for _at, facts in lines)
        # Made here and not by the logger, which would walk the stack for a line number that is written nowhere.
        record = logging.LogRecord(_log.name, logging.INFO, __file__, 0, "tool call %s", (steps,), None)
        record.lines = [(at, f"tool call {facts['step']}", facts) for at, facts in lines]
        _log.handle(record)
