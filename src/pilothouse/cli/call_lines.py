"""Tool calls as they are told in a terminal: one line that moves while they work, one that stays when each ends."""

from __future__ import annotations

import time

from pilothouse.cli.terminal import one_line
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject

_WORDS = {
    "started": "Receiving args...",
    "args_received": "Args received",
    "waiting_approval": "Waiting for your word",
    "executing": "Executing...",
    "input_required": "Waiting for your answer",
    "completed": "Completed",
    "cancelled": "Cancelled",
    "timed_out": "Timed out",
    "unknown": "Nobody knows how it ended",
}


class CallLines:
    """The calls of servers in one run."""

    def __init__(self) -> None:
        self._working: dict[str, Item] = {}
        self._began: dict[str, float] = {}

    def begin(self, item: Item) -> None:
        """Take up a call."""
        self._working[item.id] = item
        self._began[item.id] = time.monotonic()

    def end(self, item: Item, data: JsonObject) -> str:
        """Let a call go and return the line that stays of it."""
        self._working.pop(item.id, None)
        took = data.get("elapsedMs")
        seconds = took / 1000 if took is not None else time.monotonic() - self._began.pop(item.id, time.monotonic())
        return f"· {title(item)} — {_ending(data)} ({seconds:.1f} s)"

    def now(self) -> str:
        """Return one line about the calls at work, empty when there are none."""
        return "   ".join(map(self._one, self._working.values()))

    def _one(self, item: Item) -> str:
        phase = str(item.data.get("phase") or "started")
        words = _WORDS.get(phase, phase)
        if phase == "started" and item.data.get("argumentBytes"):
            words = f"{words} {item.data['argumentBytes']:,} bytes"
        if phase == "executing":
            words = f"{words} {_progress(item)}{time.monotonic() - self._began[item.id]:.1f} s{_silence(item)}"
        return f"· {item.data.get('serverTool') or item.data.get('tool', 'a tool')}: {words}"


def failed(item: Item, status: str, data: JsonObject) -> str:
    """Return one line about a call that came to nothing: which tool, of which server, and why."""
    return f"· {title(item)} — {_ending({'phase': status, **data})}"


def told(item: Item) -> str:
    """Return a call of the past in one line: which tool, with what, and how it ended or where it stands."""
    took = item.data.get("elapsedMs")
    time_taken = f" ({took / 1000:.1f} s)" if took is not None else ""
    return f"· {title(item)} — {_ending({'phase': item.status, **item.data})}{time_taken}"


def _ending(data: JsonObject) -> str:
    error = data.get("error") or {}
    phase = str(data.get("phase") or "completed")
    if phase == "failed":
        return f"Failed: {one_line(str(error.get('message', '')))}"
    if phase == "timed_out" and error.get("message"):
        return one_line(str(error["message"]))
    if phase == "completed" and data.get("exitCode"):
        return f"exit code {data['exitCode']}"
    return _WORDS.get(phase, phase)


def title(item: Item) -> str:
    """Return a call in one line: which tool, with what."""
    name = str(item.data.get("serverTool") or "")
    display = str(item.data.get("display") or item.data.get("tool") or "a tool")
    return display if name in display else f"{name} {display}"


def no_sign(item: Item) -> str:
    """Return one line about a call of which nothing was heard for a while; empty when something was."""
    silence = _silence(item)
    return f"· {title(item)} — {silence.removeprefix(', ')}" if silence else ""


def _silence(item: Item) -> str:
    since = item.data.get("quietSince")
    return f", no sign for {max(0.0, time.time() - since):.0f} s; Ctrl+C stops" if since else ""


def _progress(item: Item) -> str:
    progress = item.data.get("progress") or {}
    done, total, message = progress.get("done"), progress.get("total"), progress.get("message")
    parts = [f"{done:g}/{total:g}" if total else f"{done:g}"] if done is not None else []
    return "".join(f"{part} " for part in [*parts, *([str(message)] if message else [])])
