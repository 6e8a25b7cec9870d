"""The tool `build_and_version_control` with its five operations."""

from __future__ import annotations

from pathlib import Path

from pilothouse.helper.client import Helper
from pilothouse.tools.builds.changed import GetChangedFiles
from pilothouse.tools.builds.commit import GitCommit
from pilothouse.tools.builds.operation import TOOL
from pilothouse.tools.builds.running import ConversationTasks, CreateAndRunTask, GetTaskOutput, RunTask
from pilothouse.tools.consolidated import Consolidated
from pilothouse.tools.files.workspace import Workspace
from pilothouse.tools.making import FolderToolParts
from pilothouse.tools.terminal.terminals import Terminals
from pilothouse.types.ports import Withheld, nothing_withheld


def make(parts: FolderToolParts) -> Consolidated:
    """Make the tool."""
    return build_and_version_control(parts.terminals, parts.workspace, parts.helper, parts.searching.withheld)


def build_and_version_control(
    terminals: Terminals, workspace: Workspace, helper: Helper, withheld: Withheld = nothing_withheld
) -> Consolidated:
    """Return the tool; its programs are held like the terminal's, files are changed at the workspace."""
    tasks = ConversationTasks(helper)
    return Consolidated(
        TOOL,
        (Path(__file__).parent / "build_and_version_control.md").read_text().strip(),
        (
            CreateAndRunTask(terminals, tasks, workspace),
            RunTask(terminals, tasks),
            GetTaskOutput(terminals, tasks),
            GitCommit(terminals),
            GetChangedFiles(terminals, workspace, withheld),
        ),
    )
