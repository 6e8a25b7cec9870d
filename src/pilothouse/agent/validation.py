"""Checks a call's arguments against its tool's schema, before anyone is asked or anything done."""

from __future__ import annotations

from pilothouse.types.json import JsonObject

_UNUSABLE = "The tool's own description of its parameters cannot be used."


def complaint(schema: JsonObject, arguments: JsonObject) -> str | None:
    """Return what is wrong with the arguments in one sentence, or None."""
    try:
        missing = next((name for name in schema.get("required", ()) if name not in arguments), None)
        return f"Missing required parameter: {missing}" if missing is not None else _mismatch(schema, arguments)
    except Exception:
        # A schema comes from whoever wrote the tool; a broken one fails the call, not the run.
        return _UNUSABLE


def _mismatch(schema: JsonObject, arguments: JsonObject) -> str | None:
    # Imported at the first call: a chat without tools starts without it.
    from jsonschema import exceptions, validators  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415

    # An empty registry: a reference to elsewhere is not fetched.
    validator = validators.validator_for(schema)(schema, registry=Registry())
    error = exceptions.best_match(validator.iter_errors(arguments))
    if error is None:
        return None
    place = ".".join(str(part) for part in error.absolute_path)
    return f"Invalid parameter {place}: {error.message}" if place else f"Invalid parameters: {error.message}"
