"""The operation `create_directory`: a folder with those above it, made like every change of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from pilothouse.tools.arguments import require_string
from pilothouse.tools.files.desk import missing_folders
from pilothouse.tools.files.operation import WriteOperation
from pilothouse.tools.files.places import PathRefused, Place
from pilothouse.tools.files.steps import MakeFolder, Step
from pilothouse.tools.files.walk import look
from pilothouse.tools.terminal.operation import TOOL
from pilothouse.types.access import Access
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext


class CreateDirectory(WriteOperation):
    """Makes a folder and those above it."""

    name = "create_directory"
    doing = "Creating folder"
    icon = "folder"
    properties: ClassVar[JsonObject] = {
        "path": {"type": "string", "description": "A folder, relative to the working directory or absolute."}
    }

    def places(self, arguments: JsonObject, context: CallContext) -> Sequence[Place]:
        """Return the folder."""
        return [self.desk.place(require_string(arguments, "path"), context)]

    def _access(self, arguments: JsonObject, context: CallContext) -> Access:
        return msgspec.structs.replace(super()._access(arguments, context), operation=f"{TOOL}.{self.name}")

    def about(self, arguments: Mapping[str, object]) -> str:
        """Return the folder's name."""
        return str(arguments.get("path") or "").rstrip("/").rpartition("/")[2]

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        """Return the folder."""
        path = arguments.get("path")
        return [f"Folder: {path}"] if path else []

    def plan(self, arguments: JsonObject, context: CallContext) -> list[Step]:
        """Return the folders that are not there yet."""
        (place,) = self.places(arguments, context)
        if look(place) is not None:
            raise PathRefused(f"{place.name} exists already.", "EXISTS")
        return [*missing_folders(place), MakeFolder(place)]

    def told(self, arguments: JsonObject, changes: JsonObject) -> str:
        """Return what was made."""
        return f"Created the folder {arguments['path']}."
