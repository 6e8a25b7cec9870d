"""The tool `build_and_version_control` with its five operations."""

from __future__ import annotations

from pathlib import Path

from pilothouse.helper.client import Helper
from pilothouse.tools.builds.changed import GetChangedFiles
from pilothouse.tools.builds.commit import GitCommit
from pilothouse.tools.builds.operation import TOOL
from pilothouse.tools.builds.running import CreateAndRunTask, GetTaskOutput, RunTask, TaskBook
from pilothouse.tools.consolidated import Consolidated
from pilothouse.tools.files.desk import Desk
from pilothouse.tools.terminal.terminals import Terminals
from pilothouse.types.ports import Withheld, nothing_withheld


def build_and_version_control(
    terminals: Terminals, desk: Desk, helper: Helper, withheld: Withheld = nothing_withheld
) -> Consolidated:
    """Return the tool; its programs are held like the terminal's, files are changed at the desk."""
    book = TaskBook(helper)
    return Consolidated(
        TOOL,
        (Path(__file__).parent / "builds.md").read_text().strip(),
        (
            CreateAndRunTask(terminals, book, desk),
            RunTask(terminals, book),
            GetTaskOutput(terminals, book),
            GitCommit(terminals),
            GetChangedFiles(terminals, desk, withheld),
        ),
    )
