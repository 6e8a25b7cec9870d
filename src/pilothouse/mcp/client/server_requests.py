"""Servers that ask by themselves in the middle of a call, which the modern era does not have: how they say so."""

from __future__ import annotations

import re

from pilothouse.types.json import JsonObject, objects_in

# What the kits that servers are made with say: FastMCP, the SDK for Python, the SDK for TypeScript.
_ASKING = re.compile(r"server-(initiated|to-client) requests?\b", re.IGNORECASE)
_REFUSED = re.compile(r"\b(unavailable|not available|no back-channel)\b", re.IGNORECASE)
# A kit's sentence stands at the beginning.
_READ_CHARS = 2_000
NOTE = "It asks questions by itself, which the protocol of 2026-07-28 does not have: it is spoken to in the older one."


class CannotAsk(Exception):
    """The server tried to ask something by itself and could not; how far the call came, nobody knows."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def check_error(message: str, *, roots: bool) -> None:
    """Raise CannotAsk when a failure says that the server could not ask for what the older era would give it."""
    said = message[:_READ_CHARS]
    offered = "sampling/" not in said and (roots or "roots/" not in said)
    if _ASKING.search(said) and _REFUSED.search(said) and offered:
        raise CannotAsk(message)


def check_result(result: JsonObject, *, roots: bool) -> None:
    """Raise CannotAsk when a tool failed because its server could not ask."""
    for block in objects_in(result.get("content")) if result.get("isError") is True else ():
        if isinstance(text := block.get("text"), str):
            check_error(text, roots=roots)
