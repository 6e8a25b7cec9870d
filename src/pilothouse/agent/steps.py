"""What a run does next: one pure function of its items."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.agent import budget
from pilothouse.types.items import CLOSED, Item


class AskModel(msgspec.Struct, frozen=True):
    """Ask the model for turn number `turn`."""

    turn: int


class ExecuteCalls(msgspec.Struct, frozen=True):
    """Execute these calls, which the model asked for and nobody has begun."""

    calls: tuple[Item, ...]


class AskPerson(msgspec.Struct, frozen=True):
    """Stop and ask whether to go on."""

    reason: str
    question: str


class Wait(msgspec.Struct, frozen=True):
    """A question is open; the run is parked until it is answered."""


class Finish(msgspec.Struct, frozen=True):
    """The answer stands."""


Step = AskModel | ExecuteCalls | AskPerson | Wait | Finish


def next_step(items: Sequence[Item], run_id: str) -> Step:
    """Return what the run does next."""
    mine = [item for item in items if item.run_id == run_id]
    if any(item.kind == "question" and item.status == "waiting" for item in mine):
        return Wait()
    ready = tuple(item for item in mine if item.kind == "tool_call" and item.status not in CLOSED)
    if ready:
        return ExecuteCalls(ready)
    if _told_to_stop(mine):
        return Finish()
    turns = [item for item in mine if item.kind == "response" and _stands(item)]
    if turns and not _has_calls(mine, turns[-1].data.get("turn")):
        return Finish()
    excess = budget.exceeded(mine)
    if excess is not None:
        return AskPerson(excess.reason, excess.question)
    # By the last number and not by count: a compaction may have taken earlier turns out of sight.
    return AskModel(int(str(turns[-1].data["turn"]).partition(".")[0]) + 1 if turns else 1)


def _stands(item: Item) -> bool:
    return item.status == "completed" and not item.data.get("cutOff")


def _has_calls(mine: Sequence[Item], turn: object) -> bool:
    return any(
        item.kind == "tool_call" and item.data.get("turn") == turn and not item.data.get("cutOff") for item in mine
    )


def _told_to_stop(mine: Sequence[Item]) -> bool:
    answers = [
        item.data.get("answer", {}) for item in mine if item.kind == "question" and item.data.get("kind") == "limit"
    ]
    return bool(answers) and answers[-1].get("choice") == budget.STOP
