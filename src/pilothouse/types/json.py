"""JSON as Python sees it, and the one encoder that decides how our JSON looks."""

from __future__ import annotations

from typing import Any

import msgspec

# `Any` on purpose: JSON from a model or a person has no narrower static type.
JsonObject = dict[str, Any]

_encoder = msgspec.json.Encoder()


class Frozen(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Base of every record that leaves the process: unchanging, camelCase names, all fields present."""


def encode(value: object) -> bytes:
    """Return the compact JSON bytes of a record or of plain data."""
    return _encoder.encode(value)


def encode_text(value: object) -> str:
    """Return the compact JSON of a value as text."""
    return _encoder.encode(value).decode()
