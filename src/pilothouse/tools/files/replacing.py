"""Replacing exact text: in one file, or in several at once."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from pilothouse.tools.arguments import BadArgument, optional_bool, require_string
from pilothouse.tools.files.contents import Snapshot, Text, as_text
from pilothouse.tools.files.operation import FILE_PATH, WriteOperation
from pilothouse.tools.files.places import PathRefused, Place
from pilothouse.tools.files.steps import Step, WriteFile
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext

OLD: JsonObject = {"type": "string", "description": "The exact text to replace, with enough around it to be unique."}
NEW: JsonObject = {"type": "string", "description": "What stands there instead; may be empty."}
ALL: JsonObject = {"type": "boolean", "description": "Replace every occurrence."}
# Lines of a file that are compared with the one that was not found; more would take too long for a hint.
_COMPARED = 5_000
_COMPARED_CHARS = 400


class Replacement(msgspec.Struct, frozen=True):
    """One exact text and what stands there instead."""

    place: Place
    old: str
    new: str
    everywhere: bool
    # "" when there is only one; else which of several, for sentences.
    label: str = ""

    def apply(self, text: Text, current: str) -> str:
        """Return the text with the replacement; raise when it is not there, or there more often than was said."""
        old, new = self.old, self.new
        if current.count(old) == 0:
            old, new = text.in_its_lines(old), text.in_its_lines(new)
        elif "\r\n" in current and "\r" not in new:
            new = text.in_its_lines(new)
        times = current.count(old)
        if times == 0:
            raise PathRefused(f"{self.label}{_absent(self.place, current, self.old)}", "TEXT_NOT_FOUND")
        if times > 1 and not self.everywhere:
            raise PathRefused(
                f"{self.label}The text stands {times} times in {self.place.name} ({_where(current, old)}); "
                "give more of what is around it, or set replaceAll.",
                "TEXT_NOT_UNIQUE",
            )
        return current.replace(old, new)


class ReplaceString(WriteOperation):
    """Replaces an exact text in a file."""

    name = "replace_string"
    doing = "Editing file"
    properties: ClassVar[JsonObject] = {
        "filePath": FILE_PATH,
        "oldString": OLD,
        "newString": NEW,
        "replaceAll": ALL,
    }

    def plan(self, arguments: JsonObject, context: CallContext) -> list[Step]:
        """Return the file with the new text."""
        (place,) = self.places(arguments, context)
        return _planned(self, [_replacement(arguments, place)], context)


class MultiReplaceString(WriteOperation):
    """Replaces exact texts in one or more files, all or none of them."""

    name = "multi_replace_string"
    doing = "Editing files"
    properties: ClassVar[JsonObject] = {
        "replacements": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"filePath": FILE_PATH, "oldString": OLD, "newString": NEW, "replaceAll": ALL},
                "required": ["filePath", "oldString", "newString"],
            },
        },
    }

    def places(self, arguments: JsonObject, context: CallContext) -> Sequence[Place]:
        places = (self.workspace.place(require_string(each, "filePath"), context) for each in _list(arguments))
        return list({place.path: place for place in places}.values())

    def about(self, arguments: Mapping[str, object]) -> str:
        given = arguments.get("replacements")
        listed = given if isinstance(given, list) else []
        paths = [str(each.get("filePath") or "") for each in listed if isinstance(each, dict)]
        return ", ".join(dict.fromkeys(path.rpartition("/")[2] for path in paths))

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        """Return how many replacements there are."""
        given = arguments.get("replacements")
        return [f"Replacements: {len(given)}"] if isinstance(given, list) else []

    def plan(self, arguments: JsonObject, context: CallContext) -> list[Step]:
        """Return the files with their new texts."""
        given = _list(arguments)
        wanted = []
        for number, each in enumerate(given, 1):
            place = self.workspace.place(require_string(each, "filePath"), context)
            wanted.append(_replacement(each, place, f"Replacement {number} of {len(given)}: "))
        return _planned(self, wanted, context)


def _list(arguments: JsonObject) -> list[JsonObject]:
    given = arguments.get("replacements")
    if not isinstance(given, list) or not given or not all(isinstance(each, dict) for each in given):
        raise BadArgument("`replacements` must be a list of {filePath, oldString, newString}.")
    if len(given) > limits.PATCH_FILES:
        raise BadArgument(f"`replacements` has {len(given)} entries; at most {limits.PATCH_FILES} are made at once.")
    return given


def _replacement(arguments: JsonObject, place: Place, label: str = "") -> Replacement:
    old, new = require_string(arguments, "oldString"), arguments.get("newString")
    if not isinstance(new, str):
        raise BadArgument(f"{label}`newString` is missing; it must be a text, and may be empty.")
    return Replacement(place, old, new, optional_bool(arguments, "replaceAll", False), label)


def _planned(operation: WriteOperation, wanted: Sequence[Replacement], context: CallContext) -> list[Step]:
    """Return each file once, with everything that is replaced in it, in the order that was given."""
    files: dict[str, tuple[Place, Snapshot, Text, str]] = {}
    for each in wanted:
        if each.place.path not in files:
            before = operation.workspace.read(each.place, context)
            text = as_text(before.content, each.place)
            files[each.place.path] = each.place, before, text, text.text
        place, before, text, current = files[each.place.path]
        files[each.place.path] = place, before, text, each.apply(text, current)
    steps: list[Step] = []
    for place, before, text, after in files.values():
        if after != text.text:
            steps.append(WriteFile(place, before, text.encoded(after)))
    return steps


def _where(current: str, old: str) -> str:
    """Return the lines where a text stands, the first few of them."""
    lines: list[str] = []
    at = current.find(old)
    while at >= 0 and len(lines) < 5:
        lines.append(str(current.count("\n", 0, at) + 1))
        at = current.find(old, at + len(old))
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(lines)}{', …' if at >= 0 else ''}"


def _absent(place: Place, current: str, old: str) -> str:
    """Say that a text is not there, and what is most like it."""
    said = f"The text is not in {place.name}"
    wanted = next((line.strip() for line in old.split("\n") if line.strip()), "")
    lines = current.split("\n")[:_COMPARED]
    alike = [line.strip() for line in lines if len(line) <= _COMPARED_CHARS]
    near = difflib.get_close_matches(wanted[:_COMPARED_CHARS], alike, 1, 0.6) if wanted else []
    if not near:
        return f"{said}; read the file and copy the text exactly."
    number = next(number for number, line in enumerate(lines, 1) if line.strip() == near[0])
    if near[0] == wanted:
        return f"{said} as given; its first line is line {number}, but spaces or what follows differ."
    return f"{said}; the nearest is line {number}: {near[0][:200]!r}."
