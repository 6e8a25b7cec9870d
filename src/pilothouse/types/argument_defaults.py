"""Arguments that a model left out although they are required, where the schema itself says what they are."""

from __future__ import annotations

from pilothouse.types import limits
from pilothouse.types.json import JsonObject


def with_defaults(schema: JsonObject, given: JsonObject, depth: int = 0) -> JsonObject:
    """Return the arguments with the defaults of what is required and missing; what is given stays as it is."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or depth > limits.SCHEMA_DEPTH:
        return given
    filled = {
        name: with_defaults(field, value, depth + 1)
        for name, value in given.items()
        if isinstance(value, dict) and isinstance(field := properties.get(name), dict)
    }
    for name in required if isinstance(required, list) else ():
        field = properties.get(name) if isinstance(name, str) else None
        if name not in given and isinstance(field, dict) and _says_default(field):
            filled[name] = field["default"]
    return {**given, **filled} if any(given.get(name) is not value for name, value in filled.items()) else given


def _says_default(field: JsonObject) -> bool:
    # A missing text whose default is nothing is better called missing than no text.
    return "default" in field and (field["default"] is not None or not isinstance(field.get("type"), str))
