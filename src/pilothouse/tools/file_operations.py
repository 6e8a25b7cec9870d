"""The tool `file_operations`: all that a model does with files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pilothouse.tools.consolidated import Consolidated, Operation
from pilothouse.tools.files.creating import CreateFile
from pilothouse.tools.files.inserting import InsertEdit
from pilothouse.tools.files.moving import DeleteFile, RenameFile
from pilothouse.tools.files.operation import TOOL
from pilothouse.tools.files.patching import ApplyPatch
from pilothouse.tools.files.reading import ListDir, ReadFile
from pilothouse.tools.files.replacing import MultiReplaceString, ReplaceString
from pilothouse.tools.files.workspace import Workspace
from pilothouse.tools.making import FolderToolParts
from pilothouse.tools.search.operations import search_operations

_DESCRIPTION = Path(__file__).parent / "file_operations.md"


def make(parts: FolderToolParts) -> Consolidated:
    """Make the tool, with searching among its operations."""
    return file_operations(parts.workspace, search_operations(parts.searching, parts.runner, parts.helper))


def file_operations(workspace: Workspace, searching: Iterable[Operation] = ()) -> Consolidated:
    """Return the tool: reading, searching, writing, in this order."""
    reads: list[Operation] = [ReadFile(workspace), ListDir(workspace)]
    writes: list[Operation] = [
        CreateFile(workspace),
        ReplaceString(workspace),
        MultiReplaceString(workspace),
        InsertEdit(workspace),
        RenameFile(workspace),
        DeleteFile(workspace),
        ApplyPatch(workspace),
    ]
    return Consolidated(TOOL, _DESCRIPTION.read_text().strip(), [*reads, *searching, *writes])
