"""Which built-in tools a conversation is offered."""

from __future__ import annotations

from collections.abc import Iterable

from pilothouse.types import limits
from pilothouse.types.ports import Tool, ToolRequest
from pilothouse.types.tool_names import in_mode, place

# These work on files: they are offered where the person named a folder.
NEED_FOLDER = frozenset({"file_operations", "terminal_operations", "build_and_version_control"})
# All that a small model is burdened with as long as nobody asked for more.
_SMALL = frozenset({"think"})


def fitting(tools: Iterable[Tool], wanted: ToolRequest) -> list[Tool]:
    """Return the tools that fit, in their fixed order."""
    fit = [tool for tool in tools if _fits(tool.spec.name, wanted)]
    left = [found for tool in fit if (found := in_mode(tool, wanted.mode)) is not None]
    return sorted(left, key=lambda tool: place(tool.spec.name))


def _fits(name: str, wanted: ToolRequest) -> bool:
    if name in NEED_FOLDER and wanted.working_directory is None:
        return False
    chosen = wanted.selection.built_in if wanted.selection is not None else None
    if chosen is not None:
        return name in chosen
    small = 0 < wanted.context_window < limits.SMALL_WINDOW and wanted.working_directory is None
    return not small or name in _SMALL
