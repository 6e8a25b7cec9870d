"""When a run has gone on long enough to ask the person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from pilothouse.types import limits
from pilothouse.types.items import Item
from pilothouse.types.json import convert, encode
from pilothouse.types.tool_names import INCREASE

CONTINUE = "continue"
STOP = "stop"


class Excess(msgspec.Struct, frozen=True):
    """Which limit was reached and what the person is asked."""

    reason: Literal["iterations", "tokens", "repetition"]
    question: str


class Spent(msgspec.Struct, frozen=True):
    """What a run has used up: answers of its model, their tokens; and answers that the agent was given beyond."""

    turns: int = 0
    tokens: int = 0
    added: int = 0


def spent(mine: Sequence[Item]) -> Spent:
    """Return what a run has used up; a summary says it of what is out of sight."""
    summary = next((item for item in reversed(mine) if "spent" in item.data and item.kind == "compaction"), None)
    before = convert(summary.data["spent"], Spent) if summary is not None else Spent()
    since = int(summary.data["keepFrom"]) if summary is not None else 0
    seen = [item for item in mine if item.position >= since and item.status == "completed"]
    turns = [item for item in seen if item.kind == "response"]
    # A server's tool may have any name and bring any data.
    own = [item for item in seen if item.kind == "tool_call" and item.data.get("tool") == INCREASE]
    added = sum(int(item.data.get("iterations") or 0) for item in own if not item.data.get("server"))
    tokens = sum(_tokens(item) for item in turns)
    return Spent(before.turns + len(turns), before.tokens + tokens, before.added + added)


def exceeded(mine: Sequence[Item]) -> Excess | None:
    """Return the limit that the run's items have reached since the person last said to go on."""
    used = spent(mine)
    if _left(mine, used) == 0:
        return Excess("iterations", f"The model has been asked {used.turns} times for this message. Go on?")
    if used.tokens >= limits.RUN_TOKEN_BUDGET * _allowances(mine):
        return Excess("tokens", f"This message has used {used.tokens:,} tokens. Go on?")
    repeated = _repeated(mine)
    if repeated:
        return Excess(
            "repetition",
            f"The model has called {repeated} {limits.REPEATED_CALLS} times in a row with the same arguments. Go on?",
        )
    return None


def iterations_left(mine: Sequence[Item]) -> int:
    """Return how often the model may still be asked before the person is."""
    return _left(mine, spent(mine))


def _left(mine: Sequence[Item], used: Spent) -> int:
    return max(0, limits.MAX_ITERATIONS * _allowances(mine) + used.added - used.turns)


def _allowances(mine: Sequence[Item]) -> int:
    return 1 + sum(1 for item in mine if _went_on(item))


def iterations_added(mine: Sequence[Item]) -> int:
    """Return how many the agent was given when it asked for more."""
    return spent(mine).added


def _went_on(item: Item) -> bool:
    return item.kind == "question" and bool(item.data.get("answer", {}).get("choice") == CONTINUE)


def _tokens(item: Item) -> int:
    usage = item.data.get("usage") or {}
    return int(usage.get("input", 0)) + int(usage.get("output", 0))


def _repeated(mine: Sequence[Item]) -> str | None:
    """Return the tool that was called alike in turn after turn; alike within one turn is not a loop."""
    turns: dict[object, list[Item]] = {}
    for item in mine:
        if _went_on(item):
            turns = {}
        elif item.kind == "tool_call" and not item.data.get("cutOff"):
            turns.setdefault(item.data.get("turn"), []).append(item)
    last = list(turns.values())[-limits.REPEATED_CALLS :]
    if len(last) < limits.REPEATED_CALLS or len({_shape(calls) for calls in last}) > 1:
        return None
    return str(last[0][0].data.get("tool"))


def _shape(calls: Sequence[Item]) -> frozenset[tuple[str, bytes]]:
    return frozenset((str(call.data.get("tool")), encode(call.data.get("arguments"))) for call in calls)


def result_room(context_window: int) -> int:
    """Return how many characters of one result a model gets."""
    return min(limits.RESULT_CHARS, int(context_window * limits.CHARS_PER_TOKEN * limits.RESULT_SHARE))


def nearly_full(items: Sequence[Item], context_window: int, characters: int) -> bool:
    """Return whether the next request would leave little room in the context window."""
    used = characters // limits.CHARS_PER_TOKEN
    last = next((item for item in reversed(items) if item.kind in ("response", "compaction")), None)
    if last is not None and last.kind == "response":
        used = max(used, _tokens(last))
    return used > context_window * limits.COMPACT_ABOVE
