"""Answers in Ollama's own format."""

from __future__ import annotations

import json
from typing import Any

from tests.wires.replies import Event, Foreign, Json, Reply, plain, refused


def answer(*messages: Json, stop: str = "stop") -> Reply:
    """Return an answer of these messages."""
    end = _line({}, done=True, done_reason=stop, prompt_eval_count=10, eval_count=5, total_duration=1)
    return _reply([*map(_line, messages), end])


def broken(*messages: Json, error: str) -> Reply:
    """Return an answer that an error ends."""
    return _reply([*map(_line, messages), Foreign({"error": error})], broken=True)


def refusal(status: int, message: str) -> Reply:
    """Return an error before the stream."""
    return refused(status, {"error": message})


def text(words: str) -> Json:
    return {"content": words}


def thought(words: str) -> Json:
    return {"thinking": words}


def calls(**arguments: Json) -> Json:
    """Calls by their tools' names; they come whole, and without an id."""
    functions = [
        {"index": index, "name": name, "arguments": given} for index, (name, given) in enumerate(arguments.items())
    ]
    return {"tool_calls": [{"function": function} for function in functions]}


def _line(message: Json, **more: Any) -> Json:
    spoken = {"role": "assistant", "content": "", **message}
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": spoken, "done": False, **more}


def _reply(events: list[Event], *, broken: bool = False) -> Reply:
    body = b"".join(json.dumps(plain(event)).encode() + b"\n" for event in events)
    head = {"content-type": "application/x-ndjson"}
    return Reply("ollama", body, 200, head, tuple(events), broken=broken)
