"""Plain schemas: those that say only types, fields and fixed values become a function that accepts what fits.

It says yes or no, not why; what it does not accept is looked at again by the full validator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Fits = Callable[[Any], bool]

_SAID = frozenset({"$schema", "$id", "$comment", "title", "description", "default", "examples", "format", "deprecated"})
_UNDERSTOOD = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum"})
_DEPTH = 8


def _is_integer(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


_TYPES: dict[str, Fits] = {
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
    "string": lambda value: type(value) is str,
    "boolean": lambda value: type(value) is bool,
    "integer": _is_integer,
    "number": lambda value: type(value) in (int, float),
    "null": lambda value: value is None,
}


def plain(schema: Any, depth: int = 0) -> Fits | None:
    """Return a function that accepts what fits the schema, or None when the schema says more than it could check."""
    if schema is True:
        return lambda _value: True
    if not isinstance(schema, dict) or depth > _DEPTH or not schema.keys() - _SAID <= _UNDERSTOOD:
        return None
    checks = (_of_type(schema), _of_enum(schema), _of_object(schema, depth), _of_array(schema, depth))
    if None in checks:
        return None
    needed = [check for check in checks if check is not None and check is not _anything]
    return lambda value: all(check(value) for check in needed)


def _anything(_value: Any) -> bool:
    return True


def _of_type(schema: Any) -> Fits | None:
    if "type" not in schema:
        return _anything
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not all(isinstance(name, str) and name in _TYPES for name in names):
        return None
    kinds = [_TYPES[name] for name in names]
    return kinds[0] if len(kinds) == 1 else lambda value: any(kind(value) for kind in kinds)


def _of_enum(schema: Any) -> Fits | None:
    if "enum" not in schema:
        return _anything
    allowed = schema["enum"]
    # Only texts: 1, 1.0 and true are equal to Python and not to JSON.
    if not isinstance(allowed, list) or not all(isinstance(value, str) for value in allowed):
        return None
    known = frozenset(allowed)
    return lambda value: type(value) is str and value in known


def _of_object(schema: Any, depth: int) -> Fits | None:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    more = schema.get("additionalProperties", True)
    if not isinstance(properties, dict) or not isinstance(required, list) or not isinstance(more, bool):
        return None
    fields = {name: plain(field, depth + 1) for name, field in properties.items()}
    if None in fields.values() or not all(isinstance(name, str) for name in required):
        return None
    if not fields and not required and more:
        return _anything

    def fits(value: Any) -> bool:
        if type(value) is not dict:
            # What is said about fields says nothing about other kinds of values.
            return True
        if not all(name in value for name in required):
            return False
        for name, part in value.items():
            field = fields.get(name)
            if not more if field is None else not field(part):
                return False
        return True

    return fits


def _of_array(schema: Any, depth: int) -> Fits | None:
    if "items" not in schema:
        return _anything
    element = plain(schema["items"], depth + 1)
    if element is None:
        return None
    return lambda value: type(value) is not list or all(element(part) for part in value)
