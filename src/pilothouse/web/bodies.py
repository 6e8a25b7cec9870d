"""Reading a body: within its limits of bytes, time and depth, and by the one name that each field has."""

from __future__ import annotations

import re

import msgspec
from starlette.requests import ClientDisconnect, Request

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

# Another name that clients send for a field; what is kept has one.
_ALIAS, _FIELD = "mcp_selection", "selection"
_MARK = f'"{_ALIAS}"'.encode()
# A whole string, or a bracket outside of one. Written so that a long string costs one pass.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', re.DOTALL)


async def read_body(request: Request) -> bytes:
    """Return the whole body; the guard's `receive` has already bounded its size and its time."""
    try:
        return await request.body()
    except ClientDisconnect:
        raise PilothouseError("bad_request", "The request ended before its body did.") from None


def check_depth(raw: bytes) -> None:
    """Refuse JSON that is nested deeper, or in more pieces, than any client of ours sends."""
    if raw.count(b"[") + raw.count(b"{") <= limits.JSON_DEPTH:
        return
    depth = pieces = 0
    for token in _TOKEN.finditer(raw):
        first = raw[token.start()]
        if first in b"[{":
            depth += 1
            pieces += 1
            if depth > limits.JSON_DEPTH or pieces > limits.JSON_PIECES:
                raise PilothouseError(
                    "bad_request", f"The request's JSON is nested deeper than {limits.JSON_DEPTH} levels or too fine."
                )
        elif first in b"]}":
            depth -= 1


def plain_names(raw: bytes) -> bytes:
    """Return a body whose `mcp_selection`, of a message or in a conversation's settings, is called `selection`."""
    if _MARK not in raw:
        return raw
    body = msgspec.json.decode(raw)
    if not isinstance(body, dict):
        return raw
    if isinstance(settings := body.get("settings"), dict):
        body["settings"] = _renamed(settings)
    return msgspec.json.encode(_renamed(body))


def _renamed(given: dict[str, object]) -> dict[str, object]:
    if _ALIAS not in given:
        return given
    rest = {name: value for name, value in given.items() if name != _ALIAS}
    if rest.get(_FIELD, given[_ALIAS]) != given[_ALIAS]:
        message = f"`{_FIELD}` and `{_ALIAS}` are two names for the same, and say different things."
        raise PilothouseError("bad_request", message, fix=f"Send `{_FIELD}` only.")
    return {**rest, _FIELD: given[_ALIAS]}
