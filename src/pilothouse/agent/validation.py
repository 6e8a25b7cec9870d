"""Checks what a model or a person sends against a schema, before anyone is asked or anything done.

Most schemas are plain, and most arguments fit: those are accepted by a few comparisons. Everything else goes to
the full validator, in a thread and for a limited time, because neither the schema nor the data is ours.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from pilothouse.agent.patterns import TooSlow, found
from pilothouse.agent.plain_schemas import Fits, plain
from pilothouse.types import limits
from pilothouse.types.json import JsonObject

_UNUSABLE = "The tool's own description of its {noun}s cannot be used."
_TOO_SLOW = "The {noun}s could not be checked in time."
# Compiled schemas kept: more than the tools of a conversation.
_KEPT = 512

_clock = threading.local()
_known: OrderedDict[int, _Checker] = OrderedDict()


async def complaint(schema: JsonObject, value: JsonObject, size: int, noun: str = "parameter") -> str | None:
    """Return what is wrong with a value in one sentence, or None; `size` is its length as JSON."""
    try:
        missing = next((name for name in schema.get("required", ()) if name not in value), None)
        if missing is not None:
            return f"Missing required {noun}: {missing}"
        checker = _checker(schema)
        at_once = size <= limits.CHECKED_AT_ONCE
        if checker.fits is not None and (
            checker.fits(value) if at_once else await asyncio.to_thread(checker.fits, value)
        ):
            return None
        wrong = await asyncio.to_thread(checker.mismatch, value)
    except TooSlow:
        return _TOO_SLOW.format(noun=noun)
    except Exception:
        # A schema comes from whoever wrote the tool; a broken one fails the call, not the run.
        return _UNUSABLE.format(noun=noun)
    if wrong is None:
        return None
    place, message = wrong
    return f"Invalid {noun} {place}: {message}" if place else f"Invalid {noun}s: {message}"


def _checker(schema: JsonObject) -> _Checker:
    """Return the schema compiled, once for as long as it is used."""
    known = _known.get(id(schema))
    if known is None:
        # It holds its schema, so that no other gets the same id while this one is known.
        known = _known[id(schema)] = _Checker(schema)
        if len(_known) > _KEPT:
            _known.popitem(last=False)
    else:
        _known.move_to_end(id(schema))
    return known


class _Checker:
    """One schema, ready to be used."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self.fits: Fits | None = plain(schema)
        self._validator: Any = None

    def mismatch(self, value: JsonObject) -> tuple[str, str] | None:
        """Return where a value differs from the schema, and how; it may take a while, and gives up in time."""
        # Imported at the first need: a chat without odd tools starts without it.
        from jsonschema import exceptions  # noqa: PLC0415

        if self._validator is None:
            self._validator = _compiled(self._schema)
        _clock.until = time.monotonic() + limits.CHECKING_SECONDS
        error = exceptions.best_match(self._validator.iter_errors(value))
        if error is None:
            return None
        if error.validator == "additionalProperties" and not error.absolute_path:
            return "", _unknown(self._schema, value)
        if error.validator == "enum" and list(error.absolute_path) == ["operation"]:
            known = ", ".join(str(name) for name in error.validator_value)
            return "operation", f"there is no operation {error.instance}; there are {known}"
        return ".".join(str(part) for part in error.absolute_path), _short(error.message)


def _unknown(schema: JsonObject, value: JsonObject) -> str:
    known = list(schema.get("properties") or {})
    unknown = [name for name in value if name not in known]
    listed = f"known are {', '.join(known)}" if known else "it takes none"
    return _short(f"there is no {', '.join(unknown)}; {listed}")


def _short(text: str) -> str:
    # The validator repeats the whole value in its sentence.
    return text if len(text) <= limits.ERROR_TEXT_CHARS else f"{text[: limits.ERROR_TEXT_CHARS]}…"


def _compiled(schema: JsonObject) -> Any:
    from jsonschema import validators  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415

    base = validators.validator_for(schema)
    words = {name: _timed(check) for name, check in base.VALIDATORS.items()}
    words |= {"pattern": _timed(_pattern), "patternProperties": _timed(_pattern_properties)}
    # An empty registry: a reference to elsewhere is not fetched.
    timed: Any = validators.extend(base, words)  # type: ignore[no-untyped-call]
    return timed(schema, registry=Registry())


Check = Callable[[Any, Any, Any, Any], Any]


def _timed(check: Check) -> Check:
    """Return a keyword's check that gives up when the time is over."""

    def timed(validator: Any, word: Any, instance: Any, schema: Any) -> Iterator[Any]:
        _left()
        yield from check(validator, word, instance, schema) or ()

    return timed


def _left() -> float:
    left = float(_clock.until) - time.monotonic()
    if left <= 0:
        raise TooSlow
    return left


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415

    if isinstance(instance, str) and not found(pattern, instance, _left()):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in patterns.items():
        for key, value in instance.items():
            if found(pattern, key, _left()):
                yield from validator.descend(value, subschema, path=key, schema_path=pattern)
