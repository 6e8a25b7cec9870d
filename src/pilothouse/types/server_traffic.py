"""JSON-RPC messages to and from MCP servers, as a person looks at them."""

from __future__ import annotations

from typing import Literal

from pilothouse.types.json import Body, Frozen


class TrafficMessage(Frozen, frozen=True):
    """One JSON-RPC message, or what could not be read as one; secrets are masked."""

    seq: int
    at: float
    server_id: str
    server: str
    direction: Literal["out", "in"]
    kind: Literal["request", "response", "notification", "error", "garbage"]
    method: str
    id: str
    bytes: int
    # The message's text, cut when it is long.
    text: str
    # For a response: how long after its request.
    seconds: float | None = None


class TrafficPage(Frozen, frozen=True):
    """Messages after a number, oldest first; `recording` says whether more are being kept."""

    messages: tuple[TrafficMessage, ...]
    last_seq: int
    recording: bool


class TrafficSwitch(Body, frozen=True):
    """Record messages, or stop and forget them."""

    recording: bool
