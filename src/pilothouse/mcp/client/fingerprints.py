"""What makes a tool the tool it is, and a server what it says it is, so that a change is noticed and can be shown."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pilothouse.types import limits
from pilothouse.types.json import JsonObject

# Everything a model or a person goes by, and how it is called. What a server adds beside these changes nothing.
_FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons")
# What a server says about itself; its version is not among it, or each update would be a question.
_ABOUT = ("title", "description", "websiteUrl", "icons")
_SHOWN_CHARS = 200
_EMPTY: tuple[object, ...] = (None, "", {}, [])

# What a kit keeps for itself in `_meta`.
_OF_KITS = frozenset({"_fastmcp", "fastmcp"})
# Names and texts in `_meta` that are another at each start or with each version.
_VOLATILE_NAME = re.compile(
    r"(?i).*(time|date|nonce|hash|etag|version|build|session|token|expires|ttl|count|revision|uuid|requestid|traceid).*|.*At"
)
_VOLATILE_TEXT = re.compile(r"[\dTZ:.+\- ]{1,40}|v?\d{1,9}\.[\w.+-]{1,60}|[0-9a-fA-F-]{7,128}")
# Moments and versions within words: with others in their place the words say the same.
_MOMENT = re.compile(
    r"\b\d{4}([-/])\d{2}\1\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?(Z|[+-]\d{2}:?\d{2})?|\b\d{2}:\d{2}:\d{2}\b"
    r"|\b[vV](ersion )?\d{1,6}\.\d{1,6}(\.\d{1,6})?\b"
    # Three numbers are a version; four are an address.
    r"|(?<![\d.])\d{1,6}\.\d{1,6}\.\d{1,6}(?!\.?\d)"
)

_HASHED_AT_ONCE = 2_047
_sorted = msgspec.json.Encoder(order="sorted")


def definition(tool: JsonObject) -> JsonObject:
    """Return the part of a tool that counts."""
    found = {field: tool[field] for field in _FIELDS if tool.get(field) not in _EMPTY}
    execution, meta = tool.get("execution"), tool.get("_meta")
    # What is said with this word is so where nothing is said.
    if isinstance(execution, dict) and set(execution.values()) - {"forbidden"}:
        found["execution"] = execution
    if isinstance(meta, dict) and (steady := _steady(meta)):
        found["_meta"] = steady
    return found


def about(info: Mapping[str, object], instructions: str) -> JsonObject:
    """Return what of a server's words about itself counts, within a bound."""
    said = {"instructions": instructions, **{field: info.get(field) for field in _ABOUT}}
    return {field: _bounded(value) for field, value in said.items() if value}


def same_words(before: JsonObject, now: JsonObject) -> bool:
    """Return whether a server says the same about itself, moments and versions aside."""
    return bool(_timeless(before) == _timeless(now))


def fingerprint(tool: JsonObject) -> str:
    """Return the same for the same definition, whatever the order of its keys."""
    return digest(definition(tool))


def digest(value: JsonObject) -> str:
    """Return the same for the same values, whatever the order of their keys."""
    text = _sorted.encode(value)
    hashed = hashlib.sha256()
    # Of more, hashlib lets go of the interpreter and takes it again before the event loop, which waits for it, can wake
    # up: a list of thousands would keep the loop waiting to its end.
    for start in range(0, len(text), _HASHED_AT_ONCE):
        hashed.update(text[start : start + _HASHED_AT_ONCE])
    return hashed.hexdigest()


def differences(before: JsonObject, now: JsonObject) -> tuple[str, ...]:
    """Return what changed between two definitions, a line each."""
    return tuple(_differences("", before, now))


def _steady(meta: JsonObject) -> JsonObject:
    """Return what of `_meta` is the same at each start."""
    names = (key for key in meta if key not in _OF_KITS and not _VOLATILE_NAME.fullmatch(key))
    found = {key: _steady_value(meta[key]) for key in names}
    return {key: value for key, value in found.items() if value not in _EMPTY}


def _steady_value(value: object) -> object:
    if isinstance(value, dict):
        return _steady(value)
    if isinstance(value, list):
        return [kept for each in value if (kept := _steady_value(each)) not in _EMPTY]
    is_steady = isinstance(value, bool) or (isinstance(value, str) and not _VOLATILE_TEXT.fullmatch(value))
    return value if is_steady else None


def _bounded(value: object) -> object:
    if isinstance(value, str):
        return value[: limits.ABOUT_CHARS]
    try:
        encoded = _sorted.encode(value)
    except (OverflowError, ValueError, RecursionError):
        # Numbers and depths that JSON does not have.
        return "unreadable"
    return (
        value if len(encoded) <= limits.ABOUT_CHARS else f"{len(encoded)} bytes, {hashlib.sha256(encoded).hexdigest()}"
    )


def _timeless(words: Any) -> Any:
    if isinstance(words, str):
        return _MOMENT.sub("…", words)
    if isinstance(words, dict):
        return {key: _timeless(value) for key, value in words.items()}
    return [_timeless(each) for each in words] if isinstance(words, list) else words


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
