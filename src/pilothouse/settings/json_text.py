"""Reads JSON that people write by hand, and says on which line something is wrong."""

from __future__ import annotations

import json
import math
import re

from pilothouse.types.errors import BadField
from pilothouse.types.json import JsonObject

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|[^\s{}\[\],:"]+')
_PLAIN = {
    "Expecting ',' delimiter": "a comma or a closing bracket is missing before this place",
    "Expecting ':' delimiter": "a colon is missing after a name",
    "Expecting property name enclosed in double quotes": "a name in double quotes belongs here (a comma too many?)",
    "Expecting value": "a value is missing here (a comma too many, or text without double quotes?)",
    "Invalid control character at": "a text is not closed with a double quote on this line",
    "Unterminated string starting at": "the text that begins here is not closed with a double quote",
    "Extra data": "something follows after the end",
    "Illegal trailing comma before end of object": "there is a comma too many",
    "Illegal trailing comma before end of array": "there is a comma too many",
}


class BadJson(ValueError):
    """Text that is not the JSON object it should be; `line` counts from 1."""

    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


def parse(data: bytes) -> JsonObject:
    """Return the object in a file's bytes; raise BadJson that names the line."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadJson(line, "This is not UTF-8 text.") from None
    if not text.strip():
        raise BadJson(None, "The file is empty.")
    try:
        value = json.loads(
            text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        reason = _PLAIN.get(error.msg, error.msg[0].lower() + error.msg[1:])
        raise BadJson(error.lineno, f"This is not valid JSON: {reason}.") from None
    except _Duplicate as error:
        raise BadJson(_second_line(text, error.name), f"The name “{error.name}” stands twice in one object.") from None
    except (RecursionError, ValueError) as error:
        raise BadJson(None, f"This is not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise BadJson(1, "The file must hold one object in braces.")
    if "\\ud" in text.lower() and (half := _half_line(text)):
        raise BadJson(half, "This text has half of a character (\\ud…) in it.")
    return value


def line_of(text: str, path: tuple[str | int, ...]) -> int | None:
    """Return the line where the member at `path` begins, or its nearest parent that exists."""
    lines = dict(_members(text))
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


def explain(data: bytes, error: BadField) -> BadJson:
    """Return a bad field as a problem with its line in this text."""
    return BadJson(line_of(data.decode("utf-8-sig"), error.path), error.message)


class _Duplicate(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _without_duplicates(pairs: list[tuple[str, object]]) -> JsonObject:
    # Two entries with one id: keeping the last would lose the other one at the next write.
    found: JsonObject = {}
    for name, value in pairs:
        if name in found:
            raise _Duplicate(name)
        found[name] = value
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON value")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large a number")
    return number


def _half_line(text: str) -> int | None:
    """Return the line of the first text that cannot be written again: it names half of a character."""
    for token in _TOKEN.finditer(text):
        try:
            if token[0].startswith('"'):
                json.loads(token[0]).encode()
        except UnicodeEncodeError:
            return text.count("\n", 0, token.start()) + 1
    return None


def _second_line(text: str, name: str) -> int | None:
    seen: set[tuple[str | int, ...]] = set()
    for path, line in _members(text):
        if path in seen and path[-1] == name:
            return line
        seen.add(path)
    return None


def _members(text: str) -> list[tuple[tuple[str | int, ...], int]]:
    """Return each member's path and line, in order; the text is known to be valid JSON."""
    found: list[tuple[tuple[str | int, ...], int]] = []
    # The open objects and lists: where each stands, and the index of its current member if a list.
    path: list[str | int] = []
    lists: list[bool] = []
    line, at, naming = 1, 0, False
    for token in _TOKEN.finditer(text):
        line += text.count("\n", at, token.start())
        at = token.start()
        match token[0]:
            case "{" | "[" as opening:
                lists.append(opening == "[")
                path.append(0)
                naming = opening == "{"
                if opening == "[":
                    found.append((tuple(path), line))
            case "}" | "]":
                lists.pop()
                path.pop()
                naming = False
            case ",":
                naming = not lists[-1]
                if lists[-1]:
                    path[-1] = int(path[-1]) + 1
                    found.append((tuple(path), line))
            case name if naming and name != ":":
                path[-1] = json.loads(name)
                found.append((tuple(path), line))
                naming = False
    return found
