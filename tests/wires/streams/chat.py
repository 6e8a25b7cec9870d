"""Answers as chat completions."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from tests.wires.replies import Encoding, Event, Foreign, Json, Reply, refused, sse

_BASE: Json = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
_USAGE: Json = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 3},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def answer(*deltas: Json, stop: str = "stop", done: bool = True, before: bytes = b"") -> Reply:
    """Return an answer of these deltas, with its usage in a chunk of its own."""
    events: list[Event] = [chunk({"role": "assistant", "content": ""}), *map(chunk, deltas), chunk({}, stop)]
    return _reply([*events, {**_BASE, "choices": [], "usage": _USAGE}], done=done, before=before)


def broken(*deltas: Json, error: Json) -> Reply:
    """Return an answer that an error ends."""
    events: list[Event] = [*map(chunk, deltas), Foreign({"error": error})]
    return dataclasses.replace(_reply(events), broken=True)


def whole(message: Json, stop: str = "stop") -> Reply:
    """Return an answer in one document, though a stream was asked for."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": stop, "logprobs": None}
    document = {**_BASE, "object": "chat.completion", "choices": [choice], "usage": _USAGE}
    return Reply("chat", json.dumps(document).encode(), 200, {"content-type": "application/json"}, (document,))


def packed(reply: Reply, encoding: Encoding) -> Reply:
    """Return the same answer, compressed."""
    name = "deflate" if "deflate" in encoding else encoding
    return dataclasses.replace(reply, encoding=encoding, headers={**reply.headers, "content-encoding": name})


def refusal(status: int, message: str, code: str | None = None, param: str | None = None, **headers: str) -> Reply:
    """Return an error before the stream, as OpenAI words it."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return refused(status, {"error": error}, **headers)


def chunk(delta: Json, finish: str | None = None) -> Json:
    return {**_BASE, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}


def text(words: str, **more: Any) -> Json:
    return {"content": words, **more}


def calls(*pieces: Json) -> Json:
    return {"tool_calls": list(pieces)}


def call(index: int, id: str, arguments: str = "", name: str = "think", **more: Any) -> Json:
    """The beginning of a call."""
    return {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def more(index: int, arguments: str) -> Json:
    return {"index": index, "function": {"arguments": arguments}}


def _reply(events: list[Event], *, done: bool = True, before: bytes = b"") -> Reply:
    head = {"content-type": "text/event-stream; charset=utf-8"}
    return Reply("chat", before + sse(events, named=False, done=done), 200, head, tuple(events))
