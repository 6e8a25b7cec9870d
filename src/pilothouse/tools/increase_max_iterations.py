"""The tool `increase_max_iterations`: more rounds for a run that goes well, within what the person set."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pilothouse.tools.arguments import BadArgument, failed, optional_int, require_string, success
from pilothouse.tools.harmless import Harmless, spec_of
from pilothouse.tools.making import ToolParts
from pilothouse.types.access import Shown
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, ToolOutput
from pilothouse.types.tool_names import INCREASE


def make(parts: ToolParts) -> IncreaseMaxIterations:
    """Make the tool."""
    return IncreaseMaxIterations(lambda: parts.settings().most_added_iterations)


class IncreaseMaxIterations(Harmless):
    """Adds to how often the model may be asked in a run; the timeline says how many and why."""

    spec = spec_of(
        INCREASE,
        ("additional_iterations", "reason"),
        {
            "additional_iterations": {"type": "integer", "description": "How many more."},
            "reason": {"type": "string", "description": "What they are for."},
        },
    )
    # Asked for together, each counts what the others were given.
    lane = INCREASE

    def __init__(self, most: Callable[[], int]) -> None:
        """Take what gives the most that all such calls of a run may add; none at all with 0."""
        self._most = most

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return how many, and why."""
        summary = f"Asking for {arguments.get('additional_iterations', 'more')} more rounds"
        details = (str(arguments["reason"]),) if arguments.get("reason") else ()
        return Shown(
            action=INCREASE, action_display_name="More rounds", summary=summary, details=details, icon="repeat"
        )

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
