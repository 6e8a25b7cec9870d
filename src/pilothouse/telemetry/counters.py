"""What a process counts of its work: plain numbers, which cost an addition each; who asks has them rendered."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from pilothouse.telemetry.facts import AnswerFacts, CallFacts, RunFacts
from pilothouse.types import limits
from pilothouse.types.runs import RunStatus

_SCRIPTED = "scripted:"
# In the place of a name, where there are too many of them.
OTHER = "other"


class Histogram:
    """How many values were up to each bound, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        # One more, for what is beyond the last.
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Names:
    """A bounded number of names for labels: models and strangers' servers may make up as many as they like."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def of(self, name: str) -> str:
        """Return a name, or `other` where there are too many."""
        if name not in self._known:
            if len(self._known) >= limits.METRIC_NAMES:
                return OTHER
            self._known.add(name)
        return name


def model_name(model: str) -> str:
    """Return a model's name for a label; a script's is a path of this machine."""
    return "scripted" if model.startswith(_SCRIPTED) else model[: limits.METRIC_NAME_CHARS]


def tool_name(call: CallFacts) -> str:
    """Return a tool's name for a label, behind that of its server."""
    name = f"{call.server}.{call.tool}" if call.server else call.tool
    return name[: limits.METRIC_NAME_CHARS]


class Counters:
    """Everything that this process has counted since it began; implements `Sink`."""

    def __init__(self) -> None:
        self.runs_ended: dict[str, int] = dict.fromkeys(("completed", "failed", "cancelled", "interrupted"), 0)
        self.waited = Histogram(limits.WAITED_BOUNDS)
        self.requests: dict[tuple[str, str], Histogram] = {}
        self.tokens: dict[tuple[str, str], int] = {}
        self.calls: dict[tuple[str, str], int] = {}
        self._models = Names()
        self._tools = Names()

    def began(self, run: RunFacts, waited: float | None) -> None:
        if waited is not None:
            self.waited.add(waited)

    def left(self, run: RunFacts, status: RunStatus, at: float, error: str) -> None:
        """Do nothing: how many are at work is known by who executes them."""

    def ended(self, status: RunStatus) -> None:
        self.runs_ended[status] = self.runs_ended.get(status, 0) + 1

    def answered(self, answer: AnswerFacts) -> None:
        model = self._models.of(model_name(answer.model))
        if answer.seconds is not None:
            key = (model, "failed" if answer.error else "completed")
            if key not in self.requests:
                self.requests[key] = Histogram(limits.REQUEST_BOUNDS)
            self.requests[key].add(answer.seconds)
        for kind, count in (("input", answer.input_tokens), ("output", answer.output_tokens)):
            self.tokens[model, kind] = self.tokens.get((model, kind), 0) + count

    def called(self, call: CallFacts) -> None:
        key = (self._tools.of(tool_name(call)), call.outcome)
        self.calls[key] = self.calls.get(key, 0) + 1
