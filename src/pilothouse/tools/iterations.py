"""The tool `increase_max_iterations`: more rounds for a run that goes well, within what the person set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pilothouse.tools.arguments import BadArgument, failed, optional_int, require_string, success
from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, Shown
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ToolSpec
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput
from pilothouse.types.tool_names import INCREASE

_SPEC = ToolSpec(
    name=INCREASE,
    description=(Path(__file__).parent / "iterations.md").read_text().strip(),
    input_schema={
        "type": "object",
        "properties": {
            "additional_iterations": {"type": "integer", "description": "How many more."},
            "reason": {"type": "string", "description": "What they are for."},
        },
        "required": ["additional_iterations", "reason"],
        "additionalProperties": False,
    },
)


class IncreaseMaxIterations:
    """Adds to how often the model may be asked in a run; the timeline says how many and why."""

    effects: frozenset[Effect] = frozenset()
    server = ""
    qualified_name = INCREASE
    grant_key = INCREASE

    def __init__(self, most: Callable[[], int]) -> None:
        """Take what gives the most that all such calls of a run may add; none at all with 0."""
        self._most = most

    @property
    def spec(self) -> ToolSpec:
        """Return the tool as the model sees it."""
        return _SPEC

    def limited(self, allowed: frozenset[Effect]) -> IncreaseMaxIterations:
        """Return itself: it touches nothing."""
        return self

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Say that it touches nothing; asked for together, each counts what the others were given."""
        return Access(operation=INCREASE, lane=INCREASE)

    def times_for(self, arguments: Mapping[str, object]) -> CallTimes:
        """Return the time of any built-in tool."""
        return CallTimes(limits.TOOL_TIME)

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return how many, and why."""
        summary = f"Asking for {arguments.get('additional_iterations', 'more')} more rounds"
        details = (str(arguments["reason"]),) if arguments.get("reason") else ()
        return Shown(
            action=INCREASE, action_display_name="More rounds", summary=summary, details=details, icon="repeat"
        )

    def display(self, arguments: Mapping[str, object]) -> str:
        """Return how many."""
        return self.shown(arguments).summary

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Add what is asked for, as far as the setting goes."""
        try:
            wanted = optional_int(arguments, "additional_iterations", 0)
            require_string(arguments, "reason")
        except BadArgument as error:
            return failed(error.message, error.code)
        if wanted < 1:
            return failed("`additional_iterations` must be at least 1.", "INVALID_ARGUMENTS")
        given = min(wanted, self._most() - context.iterations_added)
        if given < 1:
            message = "No more rounds can be added to this run. Come to an end with what is left, or ask the person."
            return failed(message, "LIMIT_REACHED")
        left = context.iterations_left + given
        return success(f"{given} rounds were added; {left} are left.", {"iterations": given})
