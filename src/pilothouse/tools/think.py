"""The `think` tool: a place for the model to reason in the open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pilothouse.tools.harmless import Harmless, spec_of
from pilothouse.tools.making import ToolParts
from pilothouse.types.access import Shown
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, Tool, ToolError, ToolOutput

NAME = "think"
_LINE_CHARS = 120


def make(_parts: ToolParts) -> Think:
    """Make the tool."""
    return Think()


class Think(Harmless):
    """Records thoughts; refuses to be called twice in a row, so that an action follows thinking."""

    spec = spec_of(
        NAME,
        ("thoughts",),
        {
            "thoughts": {"type": "string", "description": "The reasoning, in plain text."},
            "requested_tools": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Names of tools that the next step needs.",
            },
        },
    )

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return the first line of the thoughts."""
        thoughts = str(arguments.get("thoughts", "")).strip().splitlines()
        first = thoughts[0] if thoughts else ""
        short = f"{first[:_LINE_CHARS]}{'…' if len(first) > _LINE_CHARS else ''}"
        summary = f"Thinking: {short}" if first else "Thinking"
        return Shown(action=NAME, action_display_name="Thinking", summary=summary, icon="brain")

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Record the thoughts, or say that it is time to act."""
        if context.earlier_calls and context.earlier_calls[-1] == NAME:
            message = "You have just been thinking. Act now: call another tool or answer."
            return ToolOutput(text=message, error=ToolError("ACT_NOW", message))
        return ToolOutput(text=f"Noted. Now act.{_about(arguments.get('requested_tools') or (), context.tools)}")


def _about(requested: Sequence[str], offered: Sequence[Tool]) -> str:
    known = {name for tool in offered for name in (tool.spec.name, tool.qualified_name)}
    there = [name for name in requested if name in known]
    absent = [name for name in requested if name not in known]
    said = f" Available: {', '.join(there)}." if there else ""
    return said + (f" Not available: {', '.join(absent)}." if absent else "")
