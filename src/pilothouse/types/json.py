"""JSON as Python sees it, and the one encoder that decides how our JSON looks."""

from __future__ import annotations

import re
import sys
from typing import Any, TypeVar

import msgspec

from pilothouse.types.errors import BadField

# `Any` on purpose: JSON from a model or a person has no narrower static type.
JsonObject = dict[str, Any]

_encoder = msgspec.json.Encoder()


class Frozen(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Base of every record that leaves the process: unchanging, camelCase names, all fields present."""


class Body(msgspec.Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """Base of request bodies: an unknown field is a mistake worth telling."""


def encode(value: object) -> bytes:
    """Return the compact JSON bytes of a record or of plain data."""
    return _encoder.encode(value)


def encode_text(value: object) -> str:
    """Return the compact JSON of a value as text."""
    return _encoder.encode(value).decode()


def plain(record: object) -> JsonObject:
    """Return a record as plain data, exactly as it would be read back."""
    data: JsonObject = msgspec.json.decode(_encoder.encode(record))
    return data


def an_object(value: object) -> JsonObject:
    """Return a value that is an object; of anything else an empty one."""
    return value if isinstance(value, dict) else {}


def objects_in(value: object) -> list[JsonObject]:
    """Return the objects of a list; of anything else none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


_NESTING = {dict, list, tuple}


def is_within(value: object, depth: int, pieces: int | None = None) -> bool:
    """Return whether plain data is nested no deeper than that and has no more pieces; this itself takes no stack."""
    level: list[Any] = [value]
    left = sys.maxsize if pieces is None else pieces
    for _ in range(depth + 1):
        left -= len(level)
        level = [each for each in level if type(each) in _NESTING]
        if not level or left < 0:
            break
        level = [inner for each in level for inner in (each.values() if type(each) is dict else each)]
    return not level and left >= 0


_T = TypeVar("_T")
_MISSING = re.compile(r"Object missing required field `([^`]+)`")
_EXPECTED = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_INVALID = re.compile(r"Invalid enum value (.+)")
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]+)`")
_BOUND = re.compile(r"Expected `\w+` (of length )?([<>]=) (\d+)")
_PATH = re.compile(r" - at (?:key in )?`\$?([^`]*)`$")
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object in braces",
    "null": "null",
}


def convert(value: object, kind: type[_T], at: tuple[str | int, ...] = ()) -> _T:
    """Return plain data as `kind`; raise a BadField that says where and why it does not fit."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise explained(error, at) from None


def explained(error: msgspec.ValidationError, at: tuple[str | int, ...] = ()) -> BadField:
    """Return where data does not fit its type, and why, in a sentence."""
    text = str(error)
    where = _PATH.search(text)
    path = at + _path(where[1] if where else "")
    return BadField(path, _sentence(text[: where.start()] if where else text, path))


def _path(text: str) -> tuple[str | int, ...]:
    """Read msgspec's path as far as it is exact: it writes `[...]` for a key of a mapping."""
    steps: list[str | int] = []
    for name, index in re.findall(r"\.(\w+)|\[([^\[\]]*)\]", text):
        if index == "...":
            break
        steps.append(name or int(index))
    return tuple(steps)


def _sentence(text: str, path: tuple[str | int, ...]) -> str:
    subject = f"“{path[-1]}”" if path else "The content"
    if missing := _MISSING.search(text):
        return f"“{missing[1]}” is missing" + (f" in {subject}." if path else ".")
    if expected := _EXPECTED.search(text):
        wanted = " or ".join(_WORDS.get(word.strip(), word.strip()) for word in expected[1].split("|"))
        return f"{subject} must be {wanted}, not {_WORDS.get(expected[2], expected[2])}."
    if unknown := _UNKNOWN.search(text):
        return f"There is no field “{unknown[1]}”" + (f" in {subject}." if path else ".")
    if bound := _BOUND.search(text):
        size = "The length of " if bound[1] else ""
        return f"{size}{subject} must be at {'most' if bound[2] == '<=' else 'least'} {int(bound[3]):,}."
    if invalid := _INVALID.search(text):
        return f"{subject} cannot be {invalid[1]}."
    return f"{subject}: {text[0].lower()}{text[1:]}."
