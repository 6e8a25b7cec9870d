"""What models write when they call a tool in text: a JSON object in one of several common shapes."""

from __future__ import annotations

import json
import re

import msgspec

from pilothouse.models.tool_names import ToolNames, joined
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, is_within

_NAMES = ("name", "tool", "tool_name", "function")
_ARGUMENTS = ("args", "arguments", "parameters", "input")
_WRAPPED = ("function", "tool_call", "call")
# A name that is longer is nobody's: the beginning is looked at with every piece that comes, and must stay short.
_NAME = r'[^"\\]{0,300}+'
_GAP = r"\s{0,99}+"
_COLON, _COMMA = rf"{_GAP}:{_GAP}", rf"{_GAP},{_GAP}"
# How nearly all of them begin; from here on the arguments can be told while they arrive.
HEAD = re.compile(
    rf'\{{{_GAP}(?:"server"{_COLON}"(?P<server>{_NAME})"{_COMMA})?'
    rf'"(?:{"|".join(_NAMES)})"{_COLON}"(?P<name>(?!"){_NAME})"{_COMMA}"(?:{"|".join(_ARGUMENTS)})"{_COLON}(?=\{{)'
)
# An object that begins with another key is no call.
_KEYS = ("server", "type", "id", "tool_call", "call", *_NAMES)
_FIRST_KEY = re.compile(rf'\{{\s*(?:"(?P<key>{_NAME})(?P<end>"(?:{_COLON}(?:"(?P<value>{_NAME})(?P<close>")?)?)?)?)?')
_INTERESTING = re.compile(r'["\\{}\[\]]')


class Written(msgspec.Struct, frozen=True):
    """A call as a model wrote it; `tool` is the offered tool it means, if there is one."""

    server: str
    name: str
    arguments: JsonObject
    tool: str | None
    # Whether the arguments were named at all.
    is_whole: bool

    @property
    def called(self) -> str:
        """Return the name to call: the offered one, else what the model wrote."""
        return self.tool or joined(self.server, self.name)


def read_call(text: str, names: ToolNames) -> Written | None:
    """Return the call that a JSON text is, None when it is none or no JSON."""
    value = lenient(text) if len(text) <= limits.ARGUMENT_BYTES else None
    if not isinstance(value, dict) or not is_within(value, limits.JSON_DEPTH, limits.JSON_PIECES):
        return None
    return _call(value, names)


def lenient(text: str) -> object:
    """Return the value of a JSON text, line breaks inside strings allowed; None when it is no JSON."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _call(value: JsonObject, names: ToolNames) -> Written | None:
    for key in _WRAPPED:
        if isinstance(inner := value.get(key), dict):
            value = {**value, key: None, **inner}
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str) and value[key].strip()), None)
    if name is None:
        return None
    given = next((value[key] for key in _ARGUMENTS if value.get(key) is not None), None)
    arguments = lenient(given) if isinstance(given, str) else given
    if given is not None and not isinstance(arguments, dict):
        return None
    server = value.get("server") if isinstance(value.get("server"), str) else ""
    arguments = arguments if isinstance(arguments, dict) else {}
    return Written(str(server), name, arguments, names.resolve(str(server), name), given is not None)


def may_be_call(start: str, names: ToolNames) -> bool:
    """Return whether an object that begins like this can still become a call of an offered tool."""
    seen = _FIRST_KEY.match(start)
    if seen is None or seen["key"] is None:
        return start[1:].strip() == ""
    key = seen["key"]
    if seen["end"] is None:
        return any(known.startswith(key) for known in _KEYS)
    if key not in _KEYS:
        return False
    # A name that is whole must be a tool's.
    return key not in _NAMES or seen["close"] is None or names.resolve("", seen["value"]) is not None


class ObjectEnd:
    """Finds where a JSON object ends while its text arrives."""

    def __init__(self) -> None:
        self._at = 0
        self._open: list[str] = []
        self._in_string = False
        # Where a value that begins at a marked place ends, once it has.
        self.mark: int | None = None
        self.marked_end: int | None = None

    def feed(self, text: str) -> int | None:
        """Look at what was added; return where the object ends, None while it has not."""
        while found := _INTERESTING.search(text, self._at):
            place, sign = found.start(), found[0]
            self._at = place + 1
            if self._in_string:
                if sign == "\\":
                    # The escaped character may not be there yet; it counts as seen.
                    self._at = place + 2
                elif sign == '"':
                    self._in_string = False
            elif sign == '"':
                self._in_string = True
            elif sign in "{[":
                self._open.append("}" if sign == "{" else "]")
            elif sign != "\\" and self._open:
                self._open.pop()
                if self.mark is not None and self.marked_end is None and len(self._open) == 1 and place > self.mark:
                    self.marked_end = place + 1
                if not self._open:
                    return place + 1
        self._at = max(self._at, len(text))
        return None

    def closed(self, text: str) -> str | None:
        """Return the text with the brackets that it lacks at its end; None where a string was cut."""
        return None if self._in_string else text + "".join(reversed(self._open))
