"""When a run has gone on long enough to ask the person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from pilothouse.agent.stop_reasons import tokens
from pilothouse.types import limits
from pilothouse.types.item_data import CallData, CompactionData, QuestionData, ResponseData, SummaryData
from pilothouse.types.items import Call, Item, is_a
from pilothouse.types.json import encode
from pilothouse.types.summed_up import Spent
from pilothouse.types.tool_names import INCREASE

CONTINUE = "continue"
STOP = "stop"


class Excess(msgspec.Struct, frozen=True):
    """Which limit was reached and what the person is asked."""

    reason: Literal["iterations", "tokens", "repetition"]
    question: str


def spent(mine: Sequence[Item]) -> Spent:
    """Return what a run has used up; a summary says it of what is out of sight."""
    summaries = (item.data for item in reversed(mine) if is_a(item, CompactionData))
    summary = next((data for data in summaries if data.spent is not None), None)
    before = summary.spent if summary is not None and summary.spent is not None else Spent()
    since = summary.keep_from if summary is not None else 0
    seen = [item for item in mine if item.position >= since and item.status == "completed"]
    turns = [item for item in seen if is_a(item, ResponseData)]
    # A server's tool may have any name and bring any data.
    own = [item.data for item in seen if is_a(item, CallData) and item.data.tool == INCREASE]
    added = sum(data.iterations for data in own if not data.server)
    used = sum(tokens(item) for item in turns)
    # A summary that came to nothing was paid for, too.
    used += sum(map(_summary_tokens, (item for item in mine if item.position >= since)))
    return Spent(before.turns + len(turns), before.tokens + used, before.added + added)


def _summary_tokens(item: Item) -> int:
    usage = item.data.usage if is_a(item, SummaryData) else None
    return usage.input + usage.output if usage is not None else 0


def exceeded(mine: Sequence[Item]) -> Excess | None:
    """Return the limit that the run's items have reached since the person last said to go on."""
    used = spent(mine)
    if iterations_left(mine, used) == 0:
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


def iterations_left(mine: Sequence[Item], used: Spent) -> int:
    """Return how often the model may still be asked before the person is."""
    return max(0, limits.MAX_ITERATIONS * _allowances(mine) + used.added - used.turns)


def _allowances(mine: Sequence[Item]) -> int:
    return 1 + sum(1 for item in mine if _went_on(item))


def _went_on(item: Item) -> bool:
    answer = item.data.answer if is_a(item, QuestionData) else None
    return answer is not None and answer.choice == CONTINUE


def _repeated(mine: Sequence[Item]) -> str | None:
    """Return the tool that was called alike in turn after turn; alike within one turn is not a loop."""
    turns: dict[str, list[Call]] = {}
    for item in mine:
        if _went_on(item):
            turns = {}
        elif is_a(item, CallData) and not item.data.cut_off:
            turns.setdefault(item.data.turn, []).append(item)
    last = list(turns.values())[-limits.REPEATED_CALLS :]
    if len(last) < limits.REPEATED_CALLS or len({_shape(calls) for calls in last}) > 1:
        return None
    return last[0][0].data.tool


def _shape(calls: Sequence[Call]) -> frozenset[tuple[str, bytes]]:
    return frozenset((call.data.tool, encode(call.data.arguments)) for call in calls)


def result_room(context_window: int) -> int:
    """Return how many characters of one result a model gets."""
    return min(limits.RESULT_CHARS, window_room(context_window))


def window_room(context_window: int) -> int:
    """Return how many characters of one result the window allows: four of them at once do not burst it."""
    return int(context_window * limits.CHARS_PER_TOKEN * limits.RESULT_SHARE)


def nearly_full(items: Sequence[Item], context_window: int, characters: int) -> bool:
    """Return whether the next request would leave little room in the context window."""
    used = characters // limits.CHARS_PER_TOKEN
    last = next((item for item in reversed(items) if item.kind in ("response", "compaction")), None)
    if last is not None and is_a(last, ResponseData):
        used = max(used, tokens(last))
    return used > context_window * limits.COMPACT_ABOVE
