"""Replays: a run once more with the results that its tools gave then, and two runs compared."""

from __future__ import annotations

from pilothouse.types.json import Body, Frozen
from pilothouse.types.runs import RunStatus
from pilothouse.types.usage import TokenUsage


class ReplayWish(Body, frozen=True):
    """Asks for a run once more with the results that its tools gave then; no tool is executed."""

    model_id: str | None = None
    # Instead of the conversation's; empty for none at all.
    system_prompt: str | None = None
    temperature: float | None = None
    thinking: bool | None = None
    idempotency_key: str | None = None


class StepCall(Frozen, frozen=True):
    """A call in a step of a run."""

    tool: str
    # Its arguments as JSON text, cut where they are long.
    arguments: str
    # How it ended; "not_recorded" for one that the first run never made, at which a replay stops.
    status: str
    result: str = ""


class ReplayStep(Frozen, frozen=True):
    """What a model said and asked for in one turn, and what that took."""

    text: str
    calls: tuple[StepCall, ...] = ()
    usage: TokenUsage | None = None
    cost: float | None = None
    duration_ms: int | None = None


class RunSummary(Frozen, frozen=True):
    """A run as a comparison shows it."""

    run_id: str
    status: RunStatus
    model: str
    steps: int
    calls: int
    # The last words of the run.
    answer: str
    usage: TokenUsage
    # In dollars; None where no price is known.
    cost: float | None
    # What its requests took, without its tools: those of a replay take no time.
    duration_ms: int
    # Why it stopped, where it did not come to its end.
    stopped: str = ""


class StepDifference(Frozen, frozen=True):
    """One step of both runs beside each other; None where one of them has no such step."""

    number: int
    before: ReplayStep | None
    after: ReplayStep | None
    # "same", or what differs: "calls", "arguments", "text"; "only_before" and "only_after" for a step of one alone.
    differs: tuple[str, ...]


class RunDifference(Frozen, frozen=True):
    """Two runs compared step by step."""

    before: RunSummary
    after: RunSummary
    steps: tuple[StepDifference, ...]
    # Whether both made the same calls with the same arguments in the same order, and end in the same words.
    same_calls: bool
    same_answer: bool
