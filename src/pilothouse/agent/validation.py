"""Checks a call's arguments against its tool's schema, before anyone is asked or anything done."""

from __future__ import annotations

from pilothouse.types.json import JsonObject


def complaint(schema: JsonObject, arguments: JsonObject) -> str | None:
    """Return what is wrong with the arguments in one sentence, or None."""
    missing = next((name for name in schema.get("required", ()) if name not in arguments), None)
    if missing is not None:
        return f"Missing required parameter: {missing}"
    # Imported at the first call: a chat without tools starts without it.
    from jsonschema import exceptions, validators  # noqa: PLC0415

    validator = validators.validator_for(schema)(schema)
    error = exceptions.best_match(validator.iter_errors(arguments))
    if error is None:
        return None
    place = ".".join(str(part) for part in error.absolute_path)
    return f"Invalid parameter {place}: {error.message}" if place else f"Invalid parameters: {error.message}"
