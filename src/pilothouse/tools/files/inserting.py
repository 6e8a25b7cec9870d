"""Inserting lines, or putting lines in the place of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pilothouse.tools.arguments import BadArgument, optional_int
from pilothouse.tools.files.contents import as_text, lines_of
from pilothouse.tools.files.creating import CONTENT
from pilothouse.tools.files.operation import FILE_PATH, WriteOperation
from pilothouse.tools.files.places import Place
from pilothouse.tools.files.reading import END_LINE, START_LINE
from pilothouse.tools.files.steps import Step, WriteFile
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext


class InsertEdit(WriteOperation):
    """Inserts lines before a line, or replaces a range of lines."""

    name = "insert_edit"
    doing = "Editing file"
    properties: ClassVar[JsonObject] = {
        "filePath": FILE_PATH,
        "content": CONTENT,
        "startLine": START_LINE,
        "endLine": END_LINE,
    }

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        """Return the file and where the lines go."""
        first, last = arguments.get("startLine"), arguments.get("endLine")
        where = f"In place of lines {first} to {last}" if last else f"Before line {first}"
        return [*super().details(arguments), where]

    def plan(self, arguments: JsonObject, context: CallContext) -> list[Step]:
        """Return the file with the new lines."""
        (place,) = self.places(arguments, context)
        content = arguments.get("content")
        if not isinstance(content, str) or arguments.get("startLine") is None:
            raise BadArgument("`startLine` and `content` are needed; `endLine` too when lines are to be replaced.")
        before = self.workspace.read(place, context)
        text = as_text(before.content, place)
        lines = lines_of(text.text)
        first = optional_int(arguments, "startLine", 1)
        last = optional_int(arguments, "endLine", first - 1)
        _check_range(place, first, last, len(lines), replaces=arguments.get("endLine") is not None)
        after = _edited(lines, first, last, text.in_its_lines(content), text.newline)
        return [] if after == text.text else [WriteFile(place, before, text.encoded(after))]


def _check_range(place: Place, first: int, last: int, lines: int, *, replaces: bool) -> None:
    if replaces and not 1 <= first <= last <= lines:
        raise BadArgument(
            f"{place.name} has {lines} lines; lines {first} to {last} cannot be replaced.", "OUT_OF_RANGE"
        )
    if not 1 <= first <= lines + 1:
        raise BadArgument(
            f"{place.name} has {lines} lines; `startLine` must be from 1 to {lines + 1}, not {first}.", "OUT_OF_RANGE"
        )


def _edited(lines: list[str], first: int, last: int, content: str, newline: str) -> str:
    head, tail = lines[: first - 1], lines[last:]
    if content and head and not head[-1].endswith("\n"):
        head[-1] += newline
    replaced = lines[first - 1 : last]
    # Whole lines are meant; only what took the place of an unfinished last line stays unfinished.
    unfinished = bool(replaced) and not tail and not replaced[-1].endswith("\n")
    if content and not content.endswith("\n") and not unfinished:
        content += newline
    return "".join([*head, content, *tail])
