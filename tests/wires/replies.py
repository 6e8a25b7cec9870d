"""How one request is answered: a stream of events in a wire's own form, or an error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]
Wire = Literal["anthropic", "chat", "responses", "gemini", "ollama"]
Encoding = Literal["", "gzip", "deflate", "raw deflate", "br"]
PROVIDERS: Mapping[Wire, str] = {
    "anthropic": "anthropic-compatible",
    "chat": "openai-compatible",
    "responses": "openai-responses",
    "gemini": "gemini",
    "ollama": "ollama",
}


@dataclass(frozen=True)
class Foreign:
    """An event that the maker's own types do not know: one of a later day, or of somebody who speaks a dialect."""

    event: Json


Event = Json | Foreign


@dataclass(frozen=True)
class Reply:
    """A whole answer, head and body; `events` is what its body says, for those who judge it."""

    wire: Wire | None
    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    encoding: Encoding = ""
    # Speaks HTTP/1.0: the body ends where the connection does.
    old: bool = False
    # The answer breaks off by an error that is told inside the stream, or is refused: nothing of it is sent back.
    broken: bool = False


# What is answered may depend on what was asked.
Answer = Reply | Callable[[Json], Reply]


def plain(event: Event) -> Json:
    """Return an event as it goes over the line."""
    return event.event if isinstance(event, Foreign) else event


def sse(events: Iterable[Event], *, named: bool, done: bool = False) -> bytes:
    """Return server-sent events: with their types as names, and OpenAI's word at the end, where that is usual."""
    lines = []
    for event in map(plain, events):
        name = f"event: {event['type']}\n" if named and "type" in event else ""
        lines.append(f"{name}data: {json.dumps(event)}\n\n")
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def refused(status: int, body: Json | bytes, **headers: str) -> Reply:
    """Return an error before any stream; headers are written with underscores."""
    kind = "application/json" if isinstance(body, dict) else "text/html"
    content = json.dumps(body).encode() if isinstance(body, dict) else body
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(None, content, status, {"content-type": kind, **named}, broken=True)
