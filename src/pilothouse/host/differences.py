"""Two runs compared step by step: what each model said and asked for in its first turn, its second, and so on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

import msgspec

from pilothouse.agent.replaying import NOT_RECORDED, calls_of, key_of
from pilothouse.agent.stop_reasons import standing
from pilothouse.types import limits
from pilothouse.types.item_data import CallData, CompactionData, ResponseData, SummaryData
from pilothouse.types.items import Call, Item, Response, TurnId, is_a
from pilothouse.types.json import encode_text
from pilothouse.types.replays import ReplayStep, RunDifference, RunSummary, StepCall, StepDifference
from pilothouse.types.runs import Run
from pilothouse.types.usage import TokenUsage


class RecordedRun(msgspec.Struct, frozen=True):
    """A run, and everything that it has in the timeline."""

    run: Run
    items: Sequence[Item]


class _Step(msgspec.Struct, frozen=True):
    """One turn of a run: every attempt at it, of which at most one stands, and the calls of that one."""

    attempts: tuple[Response, ...]
    calls: tuple[Call, ...]

    @property
    def text(self) -> str:
        """Return what the model said; of a turn that never came to stand, what its last attempt said."""
        stood = standing(self.attempts) or self.attempts
        return stood[-1].text if stood else ""


def difference(before: RecordedRun, after: RecordedRun) -> RunDifference:
    """Return how two runs differ."""
    first, second = _steps(before.items), _steps(after.items)
    summaries = _summary(before, first), _summary(after, second)
    both_ended = before.run.status == after.run.status == "completed"
    return RunDifference(
        before=summaries[0],
        after=summaries[1],
        steps=tuple(_compared(number, *pair) for number, pair in enumerate(zip_longest(first, second), 1)),
        same_calls=_keys(calls_of(before.items)) == _keys(calls_of(after.items)),
        same_answer=both_ended and summaries[0].answer == summaries[1].answer,
    )


def _steps(items: Sequence[Item]) -> list[_Step]:
    said: dict[int, list[Response]] = {}
    asked: dict[int, list[Call]] = {}
    for item in items:
        if is_a(item, ResponseData):
            said.setdefault(TurnId.of(item).turn, []).append(item)
        elif is_a(item, CallData) and not item.data.cut_off:
            asked.setdefault(TurnId.of(item).turn, []).append(item)
    return [_Step(tuple(said.get(turn, ())), tuple(asked.get(turn, ()))) for turn in sorted(said.keys() | asked.keys())]


def _compared(number: int, before: _Step | None, after: _Step | None) -> StepDifference:
    return StepDifference(
        number=number,
        before=_shown(before) if before is not None else None,
        after=_shown(after) if after is not None else None,
        differs=tuple(_differs(before, after)) or ("same",),
    )


def _differs(before: _Step | None, after: _Step | None) -> Iterable[str]:
    if before is None or after is None:
        yield "only_after" if before is None else "only_before"
        return
    first, second = _keys(before.calls), _keys(after.calls)
    if [tool for tool, _ in first] != [tool for tool, _ in second]:
        yield "calls"
    elif first != second:
        yield "arguments"
    if before.text != after.text:
        yield "text"


def _keys(calls: Iterable[Call]) -> list[tuple[str, bytes]]:
    return [key_of(call.data) for call in calls]


def _shown(step: _Step) -> ReplayStep:
    durations = [each.data.duration_ms for each in step.attempts if each.data.duration_ms is not None]
    return ReplayStep(
        text=step.text,
        calls=tuple(map(_call, step.calls)),
        usage=_usage(each.data.usage for each in step.attempts),
        cost=_cost(each.data.cost for each in step.attempts),
        duration_ms=sum(durations) if durations else None,
    )


def _call(call: Call) -> StepCall:
    data = call.data
    is_unknown = data.error is not None and data.error.code == NOT_RECORDED and not data.recorded
    asked = data.arguments if data.asked_arguments is None else data.asked_arguments
    return StepCall(
        tool=data.server_tool or data.tool,
        arguments=_cut(encode_text(asked) if asked is not None else data.raw_arguments),
        status="not_recorded" if is_unknown else call.status,
        result=_cut(call.text),
    )


def _cut(text: str) -> str:
    return text if len(text) <= limits.COMPARED_CHARS else f"{text[: limits.COMPARED_CHARS]}…"


def _summary(recorded: RecordedRun, steps: Sequence[_Step]) -> RunSummary:
    run, items = recorded.run, recorded.items
    paid = [item.data for item in items]
    asked = [data for data in paid if isinstance(data, ResponseData | SummaryData | CompactionData)]
    stood = standing(items)
    durations = (each.data.duration_ms or 0 for step in steps for each in step.attempts)
    return RunSummary(
        run_id=run.id,
        status=run.status,
        model=next((each.data.model for each in reversed(stood) if each.data.model), run.options.model_id or ""),
        steps=len(steps),
        calls=len(calls_of(items)),
        answer=_answer(stood),
        usage=_usage(data.usage for data in asked) or TokenUsage(),
        cost=_cost(data.cost for data in asked),
        duration_ms=sum(durations),
        stopped=f"{run.error.message} {run.error.fix}".strip() if run.error is not None else "",
    )


def _answer(stood: Sequence[Response]) -> str:
    """Return a run's last words; an answer that was cut and went on is one."""
    text = ""
    for each in stood:
        text = text + each.text if each.data.continues else each.text
    return text


def _usage(counted: Iterable[TokenUsage | None]) -> TokenUsage | None:
    """Return what several requests used; None where nobody counted."""
    known = [each for each in counted if each is not None]
    if not known:
        return None
    return TokenUsage(
        cache_read=sum(each.cache_read for each in known),
        cache_write=sum(each.cache_write for each in known),
        input=sum(each.input for each in known),
        output=sum(each.output for each in known),
        reasoning=sum(each.reasoning for each in known),
        estimated=any(each.estimated for each in known),
    )


def _cost(costs: Iterable[float | None]) -> float | None:
    known = [each for each in costs if each is not None]
    return sum(known) if known else None
