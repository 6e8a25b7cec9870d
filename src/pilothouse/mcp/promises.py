"""Whether a tool's structured result is what its own description promised."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import msgspec

from pilothouse.types import limits
from pilothouse.types.json import JsonObject

# These can take a server's text for ever to check; what they would find is not worth it.
_UNCHECKED = ("pattern", "patternProperties", "uniqueItems", "format")


_clock = threading.local()


def broken_promise(structured: object, schema: JsonObject | None) -> str:
    """Return what is wrong with a structured result by the tool's own schema, in one sentence; empty when nothing.

    Neither is ours, so it is looked at in a thread, and given up in time.
    """
    if not schema:
        return ""
    if structured is None:
        return "The tool promised structured content and gave none."
    try:
        if isinstance(structured, msgspec.Raw) or len(msgspec.json.encode(structured)) > limits.OUTPUT_CHECKED_BYTES:
            return ""
        _clock.until = time.monotonic() + limits.CHECKING_SECONDS
        found = next(_checker()(schema).iter_errors(structured), None)
    except Exception:  # A schema that cannot be used proves nothing about a result.
        return ""
    if found is None:
        return ""
    where = "/".join(str(step) for step in found.absolute_path)
    place = f"“{where}” of the structured content" if where else "The structured content"
    return f"{place} is not what the tool promised: {str(found.message)[: limits.ERROR_TEXT_CHARS]}."


@cache
def _checker() -> Any:
    # Loaded when the first tool promises something: it costs a tenth of a second.
    from jsonschema import validators  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415

    base = validators.Draft202012Validator
    words = {name: _timed(check) for name, check in base.VALIDATORS.items()} | dict.fromkeys(_UNCHECKED, _nothing)
    kind = validators.extend(base, words)  # type: ignore[no-untyped-call]
    # Addresses in a schema are never fetched.
    return lambda schema: kind(schema, registry=Registry())


def _nothing(*_: object) -> Iterator[Any]:
    return iter(())


def _timed(check: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    """Return a keyword's check that gives up when the time is over."""

    def timed(*given: Any) -> Iterator[Any]:
        if time.monotonic() > _clock.until:
            raise TimeoutError
        yield from check(*given) or ()

    return timed
