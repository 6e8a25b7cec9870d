"""The `think` tool: a place for the model to reason in the open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, Shown
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ToolSpec
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, Tool, ToolError, ToolOutput

NAME = "think"
_LINE_CHARS = 120
_SPEC = ToolSpec(
    name=NAME,
    description=(Path(__file__).parent / "think.md").read_text().strip(),
    input_schema={
        "type": "object",
        "properties": {
            "thoughts": {"type": "string", "description": "The reasoning, in plain text."},
            "requested_tools": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Names of tools that the next step needs.",
            },
        },
        "required": ["thoughts"],
        "additionalProperties": False,
    },
)


class Think:
    """Records thoughts; refuses to be called twice in a row, so that an action follows thinking."""

    effects: frozenset[Effect] = frozenset()
    server = ""
    qualified_name = NAME
    grant_key = NAME

    @property
    def spec(self) -> ToolSpec:
        """Return the tool as the model sees it."""
        return _SPEC

    def limited(self, allowed: frozenset[Effect]) -> Think:
        """Return itself: it touches nothing."""
        return self

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Say that it touches nothing."""
        return Access(operation=NAME)

    def times_for(self, arguments: Mapping[str, object]) -> CallTimes:
        """Return the time of any built-in tool."""
        return CallTimes(limits.TOOL_TIME)

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return the first line of the thoughts."""
        return Shown(action=NAME, action_display_name="Thinking", summary=self.display(arguments), icon="brain")

    def display(self, arguments: Mapping[str, object]) -> str:
        """Return the first line of the thoughts."""
        thoughts = str(arguments.get("thoughts", "")).strip().splitlines()
        first = thoughts[0] if thoughts else ""
        return f"Thinking: {first[:_LINE_CHARS]}{'…' if len(first) > _LINE_CHARS else ''}" if first else "Thinking"

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
