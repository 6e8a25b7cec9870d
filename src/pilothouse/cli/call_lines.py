"""Tool calls as they are told in a terminal: one line that moves while they work, one that stays when each ends."""

from __future__ import annotations

import time

from pilothouse.cli.terminal import one_line
from pilothouse.types.item_data import NoticeData
from pilothouse.types.items import Call, Item, is_a

_WORDS = {
    "started": "Receiving args...",
    "args_received": "Args received",
    "waiting_approval": "Waiting for your word",
    "executing": "Executing...",
    "summarising": "Summing up the result...",
    "input_required": "Waiting for your answer",
    "completed": "Completed",
    "cancelled": "Cancelled",
    "timed_out": "Timed out",
    "unknown": "Nobody knows how it ended",
}


class CallLines:
    """The calls of servers in one run."""

    def __init__(self) -> None:
        self._working: dict[str, Call] = {}
        self._began: dict[str, float] = {}

    def begin(self, call: Call) -> None:
        """Take up a call."""
        self._working[call.id] = call
        self._began[call.id] = time.monotonic()

    def change(self, call: Call) -> None:
        """Take what a call is now, if it was taken up."""
        if call.id in self._working:
            self._working[call.id] = call

    def end(self, call: Call) -> str:
        """Let a call go and return the line that stays of it."""
        self._working.pop(call.id, None)
        took, began = call.data.elapsed_ms, self._began.pop(call.id, time.monotonic())
        seconds = took / 1000 if took is not None else time.monotonic() - began
        return f"{failed(call)} ({seconds:.1f} s)"

    def now(self) -> str:
        """Return one line about the calls at work, empty when there are none."""
        return "   ".join(map(self._one, self._working.values()))

    def _one(self, call: Call) -> str:
        data = call.data
        phase = data.phase or "started"
        words = _WORDS.get(phase, phase)
        if phase == "started" and data.argument_bytes:
            words = f"{words} {data.argument_bytes:,} bytes"
        if phase == "executing":
            words = f"{words} {_progress(call)}{time.monotonic() - self._began[call.id]:.1f} s{_silence(call)}"
        return f"· {data.server_tool or data.tool or 'a tool'}: {words}"


def failed(call: Call) -> str:
    """Return one line about a call that ended: which tool, of which server, and how or why."""
    return f"· {title(call)} — {_ending(call, call.status)}"


def told(call: Call) -> str:
    """Return a call of the past in one line: which tool, with what, and how it ended or where it stands."""
    took = call.data.elapsed_ms
    time_taken = f" ({took / 1000:.1f} s)" if took is not None else ""
    return f"· {title(call)} — {_ending(call, call.data.phase or call.status)}{time_taken}"


def _ending(call: Call, phase: str) -> str:
    message = call.data.error.message if call.data.error is not None else ""
    if phase == "failed":
        return f"Failed: {one_line(message)}"
    if phase == "timed_out" and message:
        return one_line(message)
    if phase == "completed" and call.data.exit_code:
        return f"exit code {call.data.exit_code}"
    return _WORDS.get(phase, phase)


def title(call: Call) -> str:
    """Return a call in one line: which tool, with what."""
    name, display = call.data.server_tool, call.data.display or call.data.tool or "a tool"
    return display if name in display else f"{name} {display}"


def no_sign(call: Call) -> str:
    """Return one line about a call of which nothing was heard for a while; empty when something was."""
    silence = _silence(call)
    return f"· {title(call)} — {silence.removeprefix(', ')}" if silence else ""


def _silence(call: Call) -> str:
    since = call.data.quiet_since
    return f", no sign for {max(0.0, time.time() - since):.0f} s; Ctrl+C stops" if since else ""


def _progress(call: Call) -> str:
    if (progress := call.data.progress) is None:
        return ""
    done, total = progress.done, progress.total
    parts = [f"{done:g}/{total:g}" if total else f"{done:g}"] if done is not None else []
    return "".join(f"{part} " for part in [*parts, *([progress.message] if progress.message else [])])


def ways_on(item: Item) -> str:
    """Return what can be done about what was set aside; nothing for any other notice."""
    if not is_a(item, NoticeData) or item.data.code != "set_aside" or item.data.undone or item.data.dropped:
        return ""
    return f"Put back: pilothouse undo {item.id}. Forget: pilothouse drop {item.id}."
