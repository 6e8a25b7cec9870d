"""What becomes of tool calls, in the log: one record for each step, with ids, never with arguments or results."""

from __future__ import annotations

import logging
from typing import Literal

from pilothouse.types.items import Item
from pilothouse.types.ports import ToolOutput

_log = logging.getLogger(__name__)
# A model may call a tool by any name; a line of the log is no place for all of it.
_NAME_CHARS = 128
Step = Literal["requested", "waiting", "executing", "stopped", "ended"]


def tell(step: Step, call: Item, **more: object) -> None:
    """Write that a call came to a step."""
    if not _log.isEnabledFor(logging.INFO):
        return
    # Made here and not by the logger, which would walk the stack for a line number that is written nowhere.
    record = logging.LogRecord(_log.name, logging.INFO, __file__, 0, "tool call %s", (step,), None)
    record.facts = {
        "step": step,
        "conversation": call.conversation_id,
        "run": call.run_id,
        "call": call.id,
        "tool": str(call.data.get("tool") or "")[:_NAME_CHARS],
        "server": call.data.get("server") or "",
        **more,
    }
    _log.handle(record)


def tell_end(call: Item, status: str, output: ToolOutput, elapsed: float) -> None:
    """Write how a call ended."""
    code = output.error.code if output.error is not None else ""
    tell("ended", call, status=status, code=code, elapsedMs=round(elapsed * 1000))
