"""What makes a tool the tool it is, so that a change of it is noticed and can be shown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pilothouse.types.json import JsonObject

# Everything a model or a person goes by. What a server adds beside these changes nothing.
_FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_SHOWN_CHARS = 200

_sorted = msgspec.json.Encoder(order="sorted")


def definition(tool: JsonObject) -> JsonObject:
    """Return the part of a tool that counts."""
    return {field: tool[field] for field in _FIELDS if tool.get(field) not in (None, "", {})}


def fingerprint(tool: JsonObject) -> str:
    """Return the same for the same definition, whatever the order of its keys."""
    return hashlib.sha256(_sorted.encode(definition(tool))).hexdigest()


def differences(before: JsonObject, now: JsonObject) -> tuple[str, ...]:
    """Return what changed between two definitions, a line each."""
    return tuple(_differences("", definition(before), definition(now)))


def _differences(place: str, before: Any, now: Any) -> Iterator[str]:
    if before == now:
        return
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in [*before, *(key for key in now if key not in before)]:
            where = f"{place}.{key}" if place else str(key)
            if key not in now:
                yield f"{where} is gone (was {_shown(before[key])})"
            elif key not in before:
                yield f"{where} is new: {_shown(now[key])}"
            else:
                yield from _differences(where, before[key], now[key])
        return
    yield f"{place} was {_shown(before)}, is {_shown(now)}"


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f"“{text[:_SHOWN_CHARS]}{'…' if len(text) > _SHOWN_CHARS else ''}”"
