"""Reading a body within its limits: bytes, time and depth."""

from __future__ import annotations

import re

from starlette.requests import ClientDisconnect, Request

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

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
