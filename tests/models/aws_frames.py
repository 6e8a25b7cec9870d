"""Writes AWS's binary event stream, as Bedrock answers in it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any
from zlib import crc32


def frame(headers: Mapping[str, str] | bytes, payload: bytes) -> bytes:
    """Return one frame; headers may be given as raw bytes, to be wrong in some way."""
    head = headers if isinstance(headers, bytes) else b"".join(_header(*each) for each in headers.items())
    length = 12 + len(head) + len(payload) + 4
    prelude = length.to_bytes(4, "big") + len(head).to_bytes(4, "big")
    body = prelude + crc32(prelude).to_bytes(4, "big") + head + payload
    return body + crc32(body).to_bytes(4, "big")


def _header(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + b"\x07" + len(value).to_bytes(2, "big") + value.encode()


def event(kind: str, payload: Any) -> bytes:
    """Return an event of a kind, as the Converse stream has them."""
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, json.dumps(payload).encode())


def chunk(document: Any) -> bytes:
    """Return a document of a model's own format, as InvokeModelWithResponseStream has them."""
    whole = base64.b64encode(json.dumps(document, separators=(",", ":")).encode()).decode()
    return event("chunk", {"bytes": whole, "p": "abcdefghijkl"})


def exception(kind: str, message: str) -> bytes:
    """Return a failure that is told inside the stream."""
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps({"message": message}).encode())
