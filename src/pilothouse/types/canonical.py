"""JSON in one form for all that mean the same: keys in order, no spaces, and 1.0 as 1."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from pilothouse.types import limits

_encoder = msgspec.json.Encoder(order="sorted")


def canonical(value: Mapping[str, object]) -> bytes:
    """Return the bytes that an object has in common with all that equal it; numbers of a very long one stay as told."""
    told = _encoder.encode(value)
    if len(told) > limits.CANONICAL_BYTES:
        return told
    try:
        return _encoder.encode(json.loads(told, parse_float=_number))
    except RecursionError:
        return told


def _number(written: str) -> float | int:
    number = float(written)
    return int(number) if number.is_integer() else number
