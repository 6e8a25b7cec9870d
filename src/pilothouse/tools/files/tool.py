"""The tool `file_operations`: all that a model does with files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pilothouse.tools.consolidated import Consolidated, Operation
from pilothouse.tools.files.creating import CreateFile
from pilothouse.tools.files.desk import Desk
from pilothouse.tools.files.inserting import InsertEdit
from pilothouse.tools.files.moving import DeleteFile, RenameFile
from pilothouse.tools.files.operation import TOOL
from pilothouse.tools.files.patching import ApplyPatch
from pilothouse.tools.files.reading import ListDir, ReadFile
from pilothouse.tools.files.replacing import MultiReplaceString, ReplaceString

_DESCRIPTION = Path(__file__).parent / "file_operations.md"


def file_operations(desk: Desk, searching: Iterable[Operation] = ()) -> Consolidated:
    """Return the tool: reading, searching, writing, in this order."""
    reads: list[Operation] = [ReadFile(desk), ListDir(desk)]
    writes: list[Operation] = [
        CreateFile(desk),
        ReplaceString(desk),
        MultiReplaceString(desk),
        InsertEdit(desk),
        RenameFile(desk),
        DeleteFile(desk),
        ApplyPatch(desk),
    ]
    return Consolidated(TOOL, _DESCRIPTION.read_text().strip(), [*reads, *searching, *writes])
