"""The settings that a server asks for by a JSON Schema, `configSchema`, as things to fill in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pilothouse.mcp.proposals.blanks import Kind, Wanted, is_secret
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, an_object

_KINDS: dict[object, Kind] = {"number": "number", "integer": "integer", "boolean": "boolean"}
_PATH_FORMATS = ("path", "file-path", "filepath", "directory", "folder", "directory-path")
# Fields that hold folders or files, as they are named where no format says so.
_PATHS = re.compile(r"(?i)(^|[_\s-]|(?<=[a-z]))(paths?|folders?|director(y|ies)|dirs?)$")
_DEPTH = 3
_MARKS = ("writeOnly", "secret", "isSecret", "x-secret", "sensitive")


def wanted_of(schema: JsonObject) -> tuple[Wanted, ...]:
    """Return the settings of a schema; those inside others are named with a dot."""
    return tuple(_wanted(schema, "", _DEPTH))[: limits.PROPOSAL_FIELDS]


def _wanted(schema: JsonObject, prefix: str, depth: int) -> Iterator[Wanted]:
    listed = schema.get("required")
    required = {each for each in listed if isinstance(each, str)} if isinstance(listed, list) else set()
    for name, raw in list(an_object(schema.get("properties")).items())[: limits.PROPOSAL_FIELDS]:
        field = _plain(an_object(raw))
        if field.get("type") == "object" and depth > 0 and an_object(field.get("properties")):
            yield from _wanted(field, f"{prefix}{name}.", depth - 1)
        elif field.get("type") != "object":
            yield _one(f"{prefix}{name}", field, required=name in required)


def _one(name: str, field: JsonObject, *, required: bool) -> Wanted:
    repeated = field.get("type") == "array"
    item = _plain(an_object(field.get("items"))) if repeated else field
    choices = item.get("enum")
    default = field.get("default")
    return Wanted(
        name=name,
        title=str(field.get("title") or ""),
        about=str(field.get("description") or ""),
        kind=_kind(name, item),
        required=required and default is None,
        secret=not repeated and _is_secret(name, field),
        default=default if isinstance(default, str | int | float | list) else None,
        choices=tuple(each for each in choices if isinstance(each, str)) if isinstance(choices, list) else (),
        repeated=repeated,
    )


def _kind(name: str, item: JsonObject) -> Kind:
    kind = _KINDS.get(item.get("type"), "string")
    is_path = item.get("format") in _PATH_FORMATS or _PATHS.search(name) is not None
    return "path" if kind == "string" and is_path else kind


def _is_secret(name: str, field: JsonObject) -> bool:
    if field.get("format") == "password" or any(field.get(mark) is True for mark in _MARKS):
        return True
    # A switch or a number of tokens is none, whatever it is called.
    return field.get("type") in (None, "string") and "enum" not in field and is_secret(name.rpartition(".")[2], None)


def _plain(raw: JsonObject) -> JsonObject:
    """Return a field whose type is one: `["string", "null"]` and `anyOf` with null are the type itself."""
    kinds = raw.get("type")
    if isinstance(kinds, list):
        return {**raw, "type": next((each for each in kinds if each != "null"), "string")}
    options = raw.get("anyOf")
    if isinstance(options, list) and "type" not in raw:
        first = next((an_object(each) for each in options if an_object(each).get("type") != "null"), {})
        return {**first, **{key: value for key, value in raw.items() if key != "anyOf"}}
    return raw
