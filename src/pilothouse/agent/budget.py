"""When a run has gone on long enough to ask the person."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.agent.stop_reasons import tokens
from pilothouse.types import limits
from pilothouse.types.item_data import CallData, CompactionData, LimitData, QuestionData, ResponseData, SummaryData
from pilothouse.types.items import Call, Item, ItemOf, is_a
from pilothouse.types.json import encode
from pilothouse.types.tool_names import INCREASE
from pilothouse.types.usage import Spent

CONTINUE = "continue"
STOP = "stop"
# What a model was asked for.
_PAID = ("response", "tool_summary", "compaction")


class Excess(msgspec.Struct, frozen=True):
    """Which limit was reached and what the person is asked."""

    reason: str
    question: str
    # Of a budget: what it is when the person goes on; and what is said where nobody can be asked.
    raised: float = 0.0
    refusal: str = ""
    fix: str = ""


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
    # What broke off or came to nothing was paid for, too.
    paid = (item.data for item in mine if item.position >= since and item.kind in _PAID)
    asked = [data for data in paid if isinstance(data, ResponseData | SummaryData | CompactionData)]
    used = sum(data.usage.input + data.usage.output for data in asked if data.usage is not None)
    cost = before.cost + sum(data.cost or 0.0 for data in asked)
    return Spent(before.turns + len(turns), before.tokens + used, before.added + added, cost)


def exceeded(mine: Sequence[Item]) -> Excess | None:
    """Return the limit that the run's items have reached since the person last said to go on."""
    used = spent(mine)
    if iterations_left(mine, used) == 0:
        return Excess("iterations", f"The model has been asked {used.turns} times for this message. Go on?")
    repeated = _repeated(mine)
    if repeated:
        return Excess(
            "repetition",
            f"The model has called {repeated} {limits.REPEATED_CALLS} times in a row with the same arguments. Go on?",
        )
    return None


def iterations_left(mine: Sequence[Item], used: Spent) -> int:
    """Return how often the model may still be asked before the person is."""
    return max(0, limits.MAX_ITERATIONS * allowances(mine, "iterations") + used.added - used.turns)


def allowances(mine: Sequence[Item], *reasons: str) -> int:
    """Return how many times what a run may use at first it may use now: once more each time that the person went on.

    Only what they were asked about for one of these reasons counts; a budget says itself what it was raised to.
    """
    limited = (item.data for item in mine if _went_on(item) and is_a(item, QuestionData))
    asked = [data for data in limited if isinstance(data, LimitData)]
    return 1 + sum(1 for data in asked if data.reason in reasons and not data.raised)


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
    return max(used, counted_last(items)) > context_window * limits.COMPACT_ABOVE


def counted_last(items: Sequence[Item]) -> int:
    """Return how many tokens the last request and its answer had; 0 where nobody counted, or it was summed up since."""
    last = last_counted(items)
    return tokens(last) if last is not None else 0


def last_counted(items: Sequence[Item]) -> ItemOf[ResponseData] | None:
    """Return the last answer that its provider counted; None where there is none since a summary.

    One that broke off was reckoned, and takes nothing away from what was counted before it.
    """
    for item in reversed(items):
        if item.kind == "compaction" and item.status == "completed":
            return None
        if is_a(item, ResponseData) and item.data.usage is not None and not item.data.usage.estimated:
            return item
    return None
