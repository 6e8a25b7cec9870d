"""The tool `terminal_operations` with its eleven operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec

from pilothouse.tools.arguments import require_string
from pilothouse.tools.consolidated import Consolidated
from pilothouse.tools.files.operation import WriteOperation
from pilothouse.tools.files.places import PathRefused, Place
from pilothouse.tools.files.steps import MakeFolder, Step
from pilothouse.tools.files.walk import look
from pilothouse.tools.files.workspace import Workspace, missing_folders
from pilothouse.tools.making import FolderToolParts
from pilothouse.tools.terminal.operation import TOOL
from pilothouse.tools.terminal.running import GetLastCommand, GetTerminalOutput, RunCommand
from pilothouse.tools.terminal.sessions import (
    CloseSession,
    CreateSession,
    GetHistory,
    GetOutput,
    GetTerminalBuffer,
    GetTerminalSelection,
    SendInput,
)
from pilothouse.tools.terminal.terminals import Terminals
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
        return [self.workspace.place(require_string(arguments, "path"), context)]

    def _access(self, arguments: JsonObject, context: CallContext) -> Access:
        return msgspec.structs.replace(super()._access(arguments, context), operation=f"{TOOL}.{self.name}")

    def about(self, arguments: Mapping[str, object]) -> str:
        return str(arguments.get("path") or "").rstrip("/").rpartition("/")[2]

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        """Return the folder."""
        path = arguments.get("path")
        return [f"Folder: {path}"] if path else []

    def plan(self, arguments: JsonObject, context: CallContext) -> list[Step]:
        (place,) = self.places(arguments, context)
        if look(place) is not None:
            raise PathRefused(f"{place.name} exists already.", "EXISTS")
        return [*missing_folders(place), MakeFolder(place)]

    def told(self, arguments: JsonObject, changes: JsonObject) -> str:
        return f"Created the folder {arguments['path']}."


def make(parts: FolderToolParts) -> Consolidated:
    """Make the tool."""
    return terminal_operations(parts.terminals, parts.workspace)


def terminal_operations(terminals: Terminals, workspace: Workspace) -> Consolidated:
    """Return the tool over these terminals; folders are made at the workspace where all files are changed."""
    return Consolidated(
        TOOL,
        (Path(__file__).parent / "terminal_operations.md").read_text().strip(),
        (
            RunCommand(terminals),
            GetTerminalOutput(terminals),
            GetTerminalBuffer(terminals),
            GetLastCommand(terminals),
            GetTerminalSelection(terminals),
            CreateDirectory(workspace),
            CreateSession(terminals),
            SendInput(terminals),
            GetOutput(terminals),
            GetHistory(terminals),
            CloseSession(terminals),
        ),
    )
