"""One schema, compiled. Loaded at the first need: a chat without tools starts without it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Kind

from pilothouse.json_schema.checking import Mismatch, TooSlow
from pilothouse.json_schema.cost import Unusable
from pilothouse.types import limits
from pilothouse.types.json import JsonObject

# What describes and forbids nothing. Servers write all kinds of things there, which the validator would not take.
_SAID = frozenset(
    {"$comment", "title", "description", "default", "examples", "example", "format", "deprecated", "readOnly"}
    | {"writeOnly", "contentEncoding", "contentMediaType", "contentSchema"}
)
_ONE = frozenset(
    {"items", "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"unevaluatedProperties", "unevaluatedItems"}
)
_MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
# A schema that does not say its dialect, or one that nobody knows, is tried as one of these.
_DIALECTS: tuple[Callable[..., jsonschema_rs.Validator], ...] = (
    jsonschema_rs.validator_for,
    jsonschema_rs.Draft202012Validator,
    jsonschema_rs.Draft7Validator,
    jsonschema_rs.Draft4Validator,
)
# Searches in linear time, with what most patterns need.
LINEAR = jsonschema_rs.RegexOptions(size_limit=limits.PATTERN_BYTES_AT_ONCE)
# Knows also looking around and what was found before; it tries again and again, up to a bound.
BACKTRACKING = jsonschema_rs.FancyRegexOptions(
    backtrack_limit=limits.PATTERN_BACKTRACKS, size_limit=limits.PATTERN_BYTES
)
_READING = jsonschema_rs.FancyRegexOptions(size_limit=4 * limits.PATTERN_BYTES_AT_ONCE)
# What makes a pattern large, and no harder to read: how often something comes, and kinds of letters of all the world.
_LARGE = re.compile(r"\{\d{1,9}(?:,\d{0,9})?\}|(?<!\\)(?:\\[pP]\{[^{}]{1,15}\}|\\[DSW]|\.)|(?<=\[)\^")
_TOO_MUCH = (Kind.BacktrackLimitExceeded, Kind.RegexEngineFailure)


class Validator:
    """A schema, ready to be used."""

    def __init__(self, schema: JsonObject, patterns: Any) -> None:
        self._schema = schema
        self._compiled = _compiled(_bare(schema), patterns)

    def fits(self, value: object) -> bool:
        return self._compiled.is_valid(value)

    def mismatch(self, value: object) -> Mismatch | None:
        """Return the first thing that is wrong with a value; of alternatives, all that is wrong is looked at."""
        try:
            self._compiled.validate(value)
        except jsonschema_rs.ValidationError as error:
            return self._explained(_nearest(error), value)
        return None

    def _explained(self, error: jsonschema_rs.ValidationError, value: object) -> Mismatch:
        kind, path = error.kind, tuple(str(part) for part in error.instance_path)
        if isinstance(kind, _TOO_MUCH):
            raise TooSlow
        message = _ends(error.message.replace('"', "'"))
        if isinstance(kind, Kind.AdditionalProperties) and not path and isinstance(value, dict):
            message = _unknown(self._schema, value)
        elif isinstance(kind, Kind.Enum) and path == ("operation",):
            message = f"there is no operation {error.instance}; there are {', '.join(map(str, kind.options))}"
        return Mismatch(path, _short(message))


@lru_cache(limits.SCHEMAS_KEPT)
def is_readable(pattern: str) -> bool:
    """Return whether a pattern is a regular expression."""
    schema = {"pattern": _LARGE.sub("a", pattern)}
    try:
        jsonschema_rs.Draft202012Validator(schema, pattern_options=_READING, offline=True)
    except ValueError:
        return False
    return True


def _bare(schema: JsonObject) -> JsonObject:
    """Return a schema without what forbids nothing."""
    return {word: _part(word, value) for word, value in schema.items() if word not in _SAID}


def _part(word: str, value: Any) -> Any:
    if word in _ONE and isinstance(value, dict):
        return _bare(value)
    if word in _MANY and isinstance(value, list):
        return [_bare(each) if isinstance(each, dict) else each for each in value]
    if word in _NAMED and isinstance(value, dict):
        return {name: _bare(each) if isinstance(each, dict) else each for name, each in value.items()}
    return value


def _compiled(schema: JsonObject, patterns: Any) -> jsonschema_rs.Validator:
    for dialect in _DIALECTS:
        try:
            # What it refers to elsewhere is not fetched.
            return dialect(schema, pattern_options=patterns, validate_formats=False, offline=True)
        except ValueError:
            continue
    raise Unusable


def _nearest(error: jsonschema_rs.ValidationError) -> jsonschema_rs.ValidationError:
    """Return what is wrong by the one alternative that was meant, if it is plain which; else the error itself."""
    while isinstance(error.kind, Kind.AnyOf | Kind.OneOfNotValid):
        tried = [errors[0] for errors in error.kind.context if errors]
        # One that speaks of another kind of value was not meant.
        meant = [each for each in tried if each.instance_path != error.instance_path or not _is_other(each)]
        if len(meant) != 1:
            break
        error = meant[0]
    return error


def _is_other(error: jsonschema_rs.ValidationError) -> bool:
    return isinstance(error.kind, Kind.Type | Kind.Constant | Kind.Enum)


def _unknown(schema: JsonObject, value: JsonObject) -> str:
    known = list(schema.get("properties") or {})
    unknown = [name for name in value if name not in known]
    listed = f"known are {', '.join(known)}" if known else "it takes none"
    return f"there is no {', '.join(unknown)}; {listed}"


def _ends(text: str) -> str:
    """Return the validator's sentence: it repeats the whole value, and says last what is wrong with it."""
    part = limits.ERROR_TEXT_CHARS // 3
    return text if len(text) <= limits.ERROR_TEXT_CHARS else f"{text[:part]}…{text[-part:]}"


def _short(text: str) -> str:
    return text if len(text) <= limits.ERROR_TEXT_CHARS else f"{text[: limits.ERROR_TEXT_CHARS]}…"
