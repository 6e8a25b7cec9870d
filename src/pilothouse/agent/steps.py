"""What a run does next: one pure function of its items."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.agent import budget, stop_reasons
from pilothouse.types.item_data import CallData, LimitData, QuestionData
from pilothouse.types.items import CLOSED, Call, Item, TurnId, is_a


class AskModel(msgspec.Struct, frozen=True):
    """Ask the model for turn number `turn`."""

    turn: int


class ExecuteCalls(msgspec.Struct, frozen=True):
    """Execute these calls, which the model asked for and nobody has begun."""

    calls: tuple[Call, ...]


class Wait(msgspec.Struct, frozen=True):
    """A question is open; the run is parked until it is answered."""


class Finish(msgspec.Struct, frozen=True):
    """The answer stands."""


# Of a limit that is reached the person is asked whether to go on.
Step = AskModel | ExecuteCalls | budget.Excess | Wait | Finish


def next_step(items: Sequence[Item], run_id: str) -> Step:
    """Return what the run does next."""
    mine = [item for item in items if item.run_id == run_id]
    if any(item.kind == "question" and item.status == "waiting" for item in mine):
        return Wait()
    ready = tuple(item for item in mine if is_a(item, CallData) and item.status not in CLOSED)
    if ready:
        return ExecuteCalls(ready)
    if _told_to_stop(mine):
        return Finish()
    turns = stop_reasons.standing(mine)
    if turns and not stop_reasons.has_calls(mine, turns[-1]) and not stop_reasons.goes_on(turns):
        return Finish()
    excess = budget.exceeded(mine)
    if excess is not None:
        return excess
    # By the last number and not by count: a compaction may have taken earlier turns out of sight.
    return AskModel(TurnId.of(turns[-1]).turn + 1 if turns else 1)


def _told_to_stop(mine: Sequence[Item]) -> bool:
    asked = [item.data for item in mine if is_a(item, QuestionData) and isinstance(item.data, LimitData)]
    answer = asked[-1].answer if asked else None
    return answer is not None and answer.choice == budget.STOP
