"""The names of the built-in tools, in the order in which models get them: always the same, so that caches hold."""

from __future__ import annotations

from collections.abc import Mapping

from pilothouse.types.access import Effect
from pilothouse.types.authority import Mode
from pilothouse.types.ports import Tool

# The tool whose calls add to how often a model may be asked in a run.
INCREASE = "increase_max_iterations"
# The tool by which the agent asks the person; only its questions may ask for leave.
COLLABORATION = "user_collaboration"
# A server of such a name would make its calls look like those of our own tools.
BUILT_IN = (
    "think",
    COLLABORATION,
    "run_subagent",
    INCREASE,
    "list_system_prompts",
    "list_mini_prompts",
    "memory_operations",
    "todo_operations",
    "read_tool_result",
    "recall_history",
    "web_operations",
    "document_operations",
    "file_operations",
    "terminal_operations",
    "build_and_version_control",
    "image_generation",
)

_READING: frozenset[Effect] = frozenset({"reads"})
_PLACE = {name: index for index, name in enumerate(BUILT_IN)}


def place(name: str) -> int:
    """Return where a built-in tool stands; those of plugins come after all others."""
    return _PLACE.get(name, len(_PLACE))


def in_mode(tool: Tool, mode: Mode) -> Tool | None:
    """Return what of a tool is offered in a mode: where nothing may be changed, only what reads."""
    return tool.limited(_READING) if mode == "read_only" else tool


def counted(servers: Mapping[str, int]) -> str:
    """Return how many tools of which servers, in words."""
    return ", ".join(f"{count} of “{name}”" for name, count in servers.items())
