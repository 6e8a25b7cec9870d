"""The tool `terminal_operations` with its eleven operations."""

from __future__ import annotations

from pathlib import Path

from pilothouse.tools.consolidated import Consolidated
from pilothouse.tools.files.desk import Desk
from pilothouse.tools.terminal.folders import CreateDirectory
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


def terminal_operations(terminals: Terminals, desk: Desk) -> Consolidated:
    """Return the tool over these terminals; folders are made at the desk where all files are changed."""
    return Consolidated(
        TOOL,
        (Path(__file__).parent / "terminal.md").read_text().strip(),
        (
            RunCommand(terminals),
            GetTerminalOutput(terminals),
            GetTerminalBuffer(terminals),
            GetLastCommand(terminals),
            GetTerminalSelection(terminals),
            CreateDirectory(desk),
            CreateSession(terminals),
            SendInput(terminals),
            GetOutput(terminals),
            GetHistory(terminals),
            CloseSession(terminals),
        ),
    )
