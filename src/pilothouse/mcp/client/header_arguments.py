"""Arguments that a tool wants repeated as HTTP headers (`x-mcp-header`), so that gateways can route by them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping

from pilothouse.types.json import JsonObject

MARK = "x-mcp-header"
_PREFIX = "Mcp-Param-"
# What HTTP allows in the name of a header.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TYPES = {"string", "integer", "boolean"}
# A text that looks encoded already is encoded too, or it would be read as something else.
_ENCODED = re.compile(r"=\?base64\?.*\?=", re.IGNORECASE)

# Where an argument stands: the names that lead to it from the outside in.
Path = tuple[str, ...]


def objection(schema: JsonObject) -> str:
    """Return why a schema's marks cannot be followed, in one sentence; empty when they can, or there are none."""
    seen: set[str] = set()
    found = list(_marks(schema))
    for path, piece in found:
        name = piece[MARK]
        where = f"“{path[-1]}”"
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            return f"The argument {where} is to be sent as a header, but the header's name is not valid."
        if piece.get("type") not in _TYPES:
            return f"The argument {where} is to be sent as a header, which only text, whole numbers and yes or no can."
        if name.lower() in seen:
            return f"Two arguments are to be sent as the same header “{name}”."
        seen.add(name.lower())
    return (
        "" if _count(schema) == len(found) else "An argument that may not be there by itself is to be sent as a header."
    )


def mirrored(schema: JsonObject, arguments: JsonObject) -> dict[str, str]:
    """Return the headers for a call with these arguments; one that is absent or null has none."""
    headers: dict[str, str] = {}
    for path, piece in _marks(schema):
        value = _at(arguments, path)
        if isinstance(value, bool):
            headers[f"{_PREFIX}{piece[MARK]}"] = "true" if value else "false"
        elif isinstance(value, str | int):
            headers[f"{_PREFIX}{piece[MARK]}"] = header_text(str(value))
    return headers


def header_text(value: str) -> str:
    """Return a text as the value of a header: as it is where that is safe, else as base64 that says so."""
    plain = value.isascii() and (value.isprintable() or not value) and value == value.strip()
    if plain and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def _marks(schema: object, path: Path = ()) -> Iterator[tuple[Path, JsonObject]]:
    """Yield the marked arguments that are reached through `properties` alone."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, piece in properties.items() if isinstance(properties, dict) else ():
        if isinstance(piece, dict):
            if MARK in piece:
                yield (*path, name), piece
            yield from _marks(piece, (*path, name))


def _count(schema: object, named: bool = False) -> int:
    """Count the marks anywhere in a schema; below `properties` the word itself may be an argument's name."""
    if isinstance(schema, list):
        return sum(_count(piece) for piece in schema)
    if not isinstance(schema, dict):
        return 0
    inner = sum(_count(piece, key == "properties" and not named) for key, piece in schema.items())
    return inner + (1 if MARK in schema and not named else 0)


def _at(arguments: Mapping[str, object], path: Path) -> object:
    value: object = arguments
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
