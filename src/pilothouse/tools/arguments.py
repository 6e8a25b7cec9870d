"""What an operation takes out of its arguments, and the two ways it can end."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Part, ToolError, ToolOutput


class BadArgument(Exception):
    """An argument is missing or makes no sense; the sentence is for the model and the person."""

    def __init__(self, message: str, code: str = "INVALID_ARGUMENTS", text: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        # All that a model reads of it, where that is more than the sentence.
        self.text = text or message


def require_string(arguments: Mapping[str, object], key: str) -> str:
    """Return a text that must be there."""
    value = arguments.get(key)
    if not isinstance(value, str) or not value:
        raise BadArgument(f"`{key}` is missing; it must be a text.")
    return value


def optional_string(arguments: Mapping[str, object], key: str, default: str = "") -> str:
    """Return a text, or the default."""
    value = arguments.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise BadArgument(f"`{key}` must be a text.")
    return value


def optional_int(arguments: Mapping[str, object], key: str, default: int) -> int:
    """Return a whole number, or the default."""
    number = _number(arguments, key, default, "a whole number")
    if not number.is_integer():
        raise BadArgument(f"`{key}` must be a whole number.")
    return int(number)


def optional_float(arguments: Mapping[str, object], key: str, default: float) -> float:
    """Return a number, or the default."""
    return _number(arguments, key, default, "a number")


def _number(arguments: Mapping[str, object], key: str, default: float, kind: str) -> float:
    """Return a number; models often write one as text."""
    value = arguments.get(key)
    if value is None:
        return float(default)
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        with contextlib.suppress(ValueError):
            return float(value)
    raise BadArgument(f"`{key}` must be {kind}.")


def optional_bool(arguments: Mapping[str, object], key: str, default: bool) -> bool:
    """Return yes or no, or the default."""
    value = arguments.get(key)
    if value is None:
        return default
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise BadArgument(f"`{key}` must be true or false.")


def success(text: str, data: JsonObject | None = None, parts: tuple[Part, ...] = ()) -> ToolOutput:
    """Return what an operation did."""
    return ToolOutput(text=text, data=data or {}, parts=parts)


def failed(message: str, code: str = "EXECUTION_FAILED", data: JsonObject | None = None) -> ToolOutput:
    """Return why an operation did nothing."""
    return ToolOutput(text=message, error=ToolError(code, message), data=data or {})
