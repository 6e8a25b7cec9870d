"""The tool `user_collaboration`: a question to the person in the middle of the work; the run is parked meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pilothouse.tools.arguments import BadArgument, failed, optional_string, require_string, success
from pilothouse.tools.consolidated import Consolidated
from pilothouse.tools.harmless import Harmless, spec_of
from pilothouse.tools.making import ToolParts
from pilothouse.types import limits
from pilothouse.types.access import Access, Shown
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import (
    Ask,
    CallContext,
    CallFeedback,
    Choice,
    ToolOutput,
    ToolPaused,
)
from pilothouse.types.tool_names import COLLABORATION

LANE = "collaboration"
_HERE = Path(__file__).parent
_UNATTENDED = (_HERE / "user_collaboration_unattended.md").read_text().strip()
_ANSWER = "answer"
_APPROVE, _DECLINE = Choice("approve", "Approve"), Choice("decline", "Decline")
_DURATION = "5m"


def make(_parts: ToolParts) -> UserCollaboration:
    """Make the tool."""
    return UserCollaboration()


class UserCollaboration(Harmless):
    """Asks the person; permission for an operation is given by an explicit choice, with the answer."""

    spec = spec_of(
        COLLABORATION,
        ("prompt",),
        {
            "prompt": {"type": "string", "description": "The question."},
            "context": {"type": "string", "description": "What the person should know to answer it."},
            "choices": {"type": "array", "items": {"type": "string"}, "description": "Answers to choose from."},
            "authorize_operation": {"type": "string", "description": "tool.operation to ask permission for."},
        },
    )
    lane = LANE

    async def access(self, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:
        """Say that it touches nothing, or what is wrong with the question."""
        try:
            _ask(arguments, context)
        except BadArgument as error:
            return failed(error.message, error.code)
        return await super().access(arguments, context)

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return the question."""
        asked = " ".join(str(arguments.get("prompt") or "").split())
        details = tuple(f"{key}: {arguments[key]}" for key in ("context", "authorize_operation") if arguments.get(key))
        summary = f"Asking: {asked[: limits.CHOICE_CHARS]}" if asked else "Asking you"
        return Shown(
            action=COLLABORATION, action_display_name="Asking you", summary=summary, details=details, icon="question"
        )

    async def execute(
        self, arguments: JsonObject, context: CallContext, feedback: CallFeedback
    ) -> ToolOutput | ToolPaused:
        """Ask and wait; where nobody can answer, say so at once."""
        ask = _ask(arguments, context)
        if context.resumed is not None:
            return _answered(ask, context.resumed.answers.get(_ANSWER, {}))
        if context.mode == "auto_approve":
            return _by_itself(ask)
        if context.unattended or context.external:
            return success(_UNATTENDED.replace("{question}", _written(ask)), {"question": ask.message})
        return ToolPaused((ask,), {})


def _ask(arguments: JsonObject, context: CallContext) -> Ask:
    prompt = require_string(arguments, "prompt").strip()
    about = optional_string(arguments, "context")
    operation = optional_string(arguments, "authorize_operation").strip()
    if not prompt:
        raise BadArgument("`prompt` is empty; it must be a question.")
    if max(len(prompt), len(about)) > limits.QUESTION_CHARS:
        raise BadArgument(f"A question and its context have at most {limits.QUESTION_CHARS:,} characters each.")
    choices = _choices(arguments.get("choices") or ())
    if operation:
        _check(operation, context)
        if choices:
            raise BadArgument("Give `choices` or `authorize_operation`, not both.")
        choices = (_APPROVE, _DECLINE)
    return Ask(
        id=_ANSWER,
        kind="question",
        message=prompt,
        context=about,
        choices=choices,
        authorizes=operation,
        duration=_DURATION if operation else "",
    )


def _check(operation: str, context: CallContext) -> None:
    several = [tool.operation_effects for tool in context.tools if isinstance(tool, Consolidated)]
    effects = {name: effects for each in several for name, effects in each.items()}.get(operation)
    if effects is None:
        raise BadArgument(f"There is no operation {operation[: limits.CHOICE_CHARS]} that permission can be asked for.")
    if effects & {"runs", "sends"}:
        # Permission for any command at all is more than a person can see in one question.
        raise BadArgument(f"Call {operation} itself: the person is asked about exactly what it would do.")


def _answered(ask: Ask, answer: JsonObject) -> ToolOutput:
    if answer.get("action") != "accept":
        return failed("The question was withdrawn before it was answered.", "CANCELLED")
    choice, text = answer.get("choice"), str(answer.get("text") or "")
    label = next((each.label for each in ask.choices if each.id == choice), "")
    said = f"User response: {'. '.join(part for part in (label, text) if part)}"
    if ask.authorizes and choice == _APPROVE.id:
        # The permission was given with the answer; words alone give none.
        said = f"{said} ({ask.authorizes} may be used for {_DURATION} from the answer on.)"
    return success(said, {"response": {"choice": choice, "text": text}, "authorizes": ask.authorizes})


def _choices(given: Sequence[object]) -> tuple[Choice, ...]:
    labels = [str(label).strip() for label in given]
    if len(labels) > limits.QUESTION_CHOICES:
        raise BadArgument(f"A question has at most {limits.QUESTION_CHOICES} choices; this one has {len(labels)}.")
    if any(not label or len(label) > limits.CHOICE_CHARS for label in labels) or len(set(labels)) < len(labels):
        raise BadArgument(f"Choices must differ and have 1 to {limits.CHOICE_CHARS} characters.")
    return tuple(Choice(str(number), label) for number, label in enumerate(labels, 1))


def _by_itself(ask: Ask) -> ToolOutput:
    """Answer for a person who said that nothing is to be asked; it permits nothing that the mode does not permit."""
    chosen = "Choose what fits best" if ask.choices and not ask.authorizes else "Go on as you think best"
    said = f"User response: {chosen}. (Answered by itself: auto-approve is on.)"
    return success(said, {"response": {"choice": None, "text": ""}, "automatic": True})


def _written(ask: Ask) -> str:
    lines = [ask.message, ask.context, *(f"- {choice.label}" for choice in ask.choices if not ask.authorizes)]
    return "\n".join(line for line in lines if line)
