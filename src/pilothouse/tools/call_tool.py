"""The `call_tool` tool: how a model calls a tool by its name.

A call of it is a call of the tool that it names, before anyone looks at it (`agent/tool_lookup.py`). What comes here
names nothing that the run may call.
"""

from __future__ import annotations

from collections.abc import Mapping

from pilothouse.tools.harmless import Harmless, spec_of
from pilothouse.tools.making import ToolParts
from pilothouse.types import limits
from pilothouse.types.access import Shown
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, Tool, ToolError, ToolOutput
from pilothouse.types.tool_names import CALL, SEARCH

_NAMED = 3


def make(_parts: ToolParts) -> CallTool:
    """Make the tool."""
    return CallTool()


class CallTool(Harmless):
    """Says that there is no tool of that name."""

    spec = spec_of(
        CALL,
        ("name",),
        {
            "name": {"type": "string", "description": f"The tool's exact name, as {SEARCH} gave it."},
            "arguments": {"type": "object", "description": "What the tool is given; it must fit its input_schema."},
        },
    )

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return which tool was meant."""
        name = str(arguments.get("name", ""))[: limits.WIRE_NAME_CHARS]
        summary = f"Calling {name}" if name else "Calling a tool"
        return Shown(action=CALL, action_display_name="Calling a tool", summary=summary, icon="server")

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Say so, with tools that are called alike."""
        name = str(arguments["name"]).strip()
        message = f"There is no tool named {name[: limits.GUIDE_TOOL_CHARS] or '(empty)'}."
        if name == CALL:
            message = f"{CALL} cannot call itself."
        alike = [tool.spec.name for tool in context.tools if tool.server and _bare(tool) == _last(name)][:_NAMED]
        hint = f" Perhaps you mean {' or '.join(alike)}." if alike else f" Look for one with {SEARCH}."
        return ToolOutput(text=f"{message}{hint}", error=ToolError("TOOL_NOT_FOUND", f"{message}{hint}"))


def _bare(tool: Tool) -> str:
    return tool.qualified_name.partition(".")[2].lower()


def _last(name: str) -> str:
    """Return a name without the server's, however the two were joined."""
    return name.rpartition("__")[2].rpartition(".")[2].lower()
