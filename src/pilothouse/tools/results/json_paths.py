"""A path into JSON, such as `.items[3].name`: keys after a point or in quotes, places and ranges in brackets."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.search.results import counted
from pilothouse.types import limits

# One step: `.name`, `["any name"]`, `[3]`, `[-1]`, `[10:20]`. A leading `$` means the whole, as elsewhere.
_STEP = re.compile(
    r'\.(?P<name>[^.\[\]"\s]++)|\[(?P<quoted>"(?:[^"\\]|\\.)*+")\]|\[(?P<from>-?[0-9]*+)(?P<to>:-?[0-9]*+)?\]'
)
_FORM = 'A path looks like .items[3].name, with ["a key"], [-1] or [10:20] where needed'
_NAMES_SHOWN = 20
_NAME_CHARS = 60


def decoded(text: str) -> Any:
    """Return a text as the JSON that it is, or as a list where each of its lines is some; raise BadArgument if not.

    A few lines before it, in which a server says what it is, are passed over.
    """
    why = "it begins otherwise"
    for start in starts(text):
        try:
            return _decoded(text[start:] if start else text)
        except msgspec.DecodeError as error:
            why = str(error).removeprefix("JSON is malformed: ")
        except RecursionError:
            raise BadArgument("The JSON is nested too deeply to be read by a path.", "NOT_JSON") from None
    raise BadArgument(f"This is not JSON: {why}.", "NOT_JSON")


def starts(text: str) -> list[int]:
    """Return where JSON may begin: at the first lines that begin as an object or a list does."""
    found, at = [], 0
    for _ in range(limits.RESULT_LEAD_LINES + 1):
        if text[at : at + limits.RESULT_LINE_CHARS].lstrip()[:1] in ("{", "["):
            found.append(at)
        at = text.find("\n", at) + 1
        if not at:
            break
    return found


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        try:
            lines = [msgspec.json.decode(line) for line in text.splitlines() if line.strip()]
        except (msgspec.DecodeError, RecursionError):
            lines = []
        if len(lines) > 1:
            return lines
        raise


def at(value: Any, path: str) -> Any:
    """Return what stands at a path; raise BadArgument that says how far it led, and what is there."""
    where, rest = "", path.strip()
    rest = rest.removeprefix("$")
    if rest in ("", "."):
        return value
    if rest[0] not in ".[":
        rest = f".{rest}"
    at_character = 0
    while at_character < len(rest):
        step = _STEP.match(rest, at_character)
        if step is None:
            raise BadArgument(f"“{rest[at_character:][:_NAME_CHARS]}” is no step of a path. {_FORM}.", "BAD_PATH")
        value = _taken(value, step, where)
        where += step[0]
        at_character = step.end()
    return value


def _taken(value: Any, step: re.Match[str], where: str) -> Any:
    if step["name"] is not None or step["quoted"] is not None:
        name = step["name"] if step["name"] is not None else _unquoted(step["quoted"])
        if isinstance(value, dict) and name in value:
            return value[name]
    elif isinstance(value, list) and step["to"] is not None:
        begin, end = (int(number) if number else None for number in (step["from"], step["to"][1:]))
        return value[begin:end]
    elif isinstance(value, list) and step["from"]:
        place = int(step["from"])
        if -len(value) <= place < len(value):
            return value[place]
    raise BadArgument(
        f"There is no “{step[0][:_NAME_CHARS]}” at {where or 'the top'}, which is {kind(value)}.", "NO_PATH"
    )


def _unquoted(quoted: str) -> str:
    try:
        return str(msgspec.json.decode(quoted))
    except msgspec.DecodeError:
        raise BadArgument(f"{quoted[:_NAME_CHARS]} is no text in JSON. {_FORM}.", "BAD_PATH") from None


def kind(value: Any) -> str:
    """Return what a value is, in words: `a list of 40 objects with id, name`."""
    match value:
        case dict():
            return f"an object with {names(value)}" if value else "an empty object"
        case list():
            if not value:
                return "an empty list"
            first = value[: limits.RESULT_SHAPE_ROWS]
            if all(isinstance(each, dict) for each in first):
                return f"a list of {counted(len(value), 'object')} with {names(columns(first))}"
            return f"a list of {len(value):,}"
        case str():
            return f"a text of {counted(len(value), 'character')}"
        case None:
            return "null"
        case bool():
            return "true or false"
        case _:
            return "a number"


def names(keys: Any) -> str:
    """Return names as a short list."""
    shown = [" ".join(str(key)[:_NAME_CHARS].split()) for key in keys]
    more = f" and {len(shown) - _NAMES_SHOWN:,} more" if len(shown) > _NAMES_SHOWN else ""
    return ", ".join(shown[:_NAMES_SHOWN]) + more


def columns(rows: list[Any]) -> list[str]:
    """Return the names that the first objects of a list have, in their order."""
    found: dict[str, None] = {}
    for row in rows[: limits.RESULT_SHAPE_ROWS]:
        found |= dict.fromkeys(row if isinstance(row, dict) else ())
    return list(found)
