"""Creating a file."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from typing import ClassVar

from pilothouse.tools.arguments import BadArgument, optional_bool
from pilothouse.tools.files.contents import as_text, is_binary
from pilothouse.tools.files.operation import FILE_PATH, WriteOperation
from pilothouse.tools.files.places import PathRefused
from pilothouse.tools.files.shown_changes import counts
from pilothouse.tools.files.steps import Step, WriteFile
from pilothouse.tools.files.walk import look
from pilothouse.tools.files.workspace import missing_folders
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext

CONTENT: JsonObject = {"type": "string", "description": "The whole text of a new file, or the lines of insert_edit."}


class CreateFile(WriteOperation):
    """Creates a file, with the folders that it needs."""

    name = "create_file"
    doing = "Creating file"
    icon = "file"
    _tells = False
    properties: ClassVar[JsonObject] = {
        "filePath": FILE_PATH,
        "content": CONTENT,
        "overwrite": {"type": "boolean", "description": "Replace a file that exists."},
    }

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        """Return the file and how long it is."""
        lines = len(str(arguments.get("content") or "").splitlines())
        return [*super().details(arguments), f"Size: {lines} line{'' if lines == 1 else 's'}"]

    def plan(self, arguments: JsonObject, context: CallContext) -> list[Step]:
        (place,) = self.places(arguments, context)
        content = arguments.get("content")
        if not isinstance(content, str):
            raise BadArgument("`content` is missing; it must be a text, and may be empty.")
        if not place.parts or str(arguments["filePath"]).endswith("/"):
            raise PathRefused(f"{place.path} is a folder, not a file.", "NOT_A_FILE")
        found = look(place)
        if found is None:
            return [*missing_folders(place), WriteFile(place, None, _bytes(content))]
        if stat.S_ISREG(found.st_mode) and not optional_bool(arguments, "overwrite", False):
            raise PathRefused(
                f"{place.name} exists already; use replace_string to change it, or pass overwrite.", "EXISTS"
            )
        before = self.workspace.read(place, context)
        # What was there decides how text is written, so that an overwritten file keeps its encoding and line ends.
        if is_binary(before.content):
            after = _bytes(content)
        else:
            old = as_text(before.content, place)
            after = old.encoded(old.in_its_lines(content)) if old.certain else _bytes(content)
        return [] if after == before.content else [WriteFile(place, before, after)]

    def told(self, arguments: JsonObject, changes: JsonObject) -> str:
        change = changes["changes"][-1]
        verb = "Created" if change["kind"] == "created" else "Replaced"
        return f"{verb} {change['path']} ({counts(changes)})."


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadArgument("`content` has characters in it that are no text.") from None
