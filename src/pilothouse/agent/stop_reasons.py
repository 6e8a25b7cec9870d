"""What follows from why an answer ended: it stands, it goes on by itself, or it was cut and the person is told."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.types import limits
from pilothouse.types.item_data import CallData, NoticeData, ResponseData
from pilothouse.types.items import Item, Response, is_a, patch
from pilothouse.types.json import JsonObject
from pilothouse.types.runs import CutReason

# The code of the notice about an answer that was cut.
CUT_SHORT = "cut_short"
_GO_ON = "To have the rest, go on."
_LONGER = f"{_GO_ON} “Max tokens” in the settings of this conversation allows longer answers."


class Cut(msgspec.Struct, frozen=True):
    """An answer that is not at its end: why, and how far it came."""

    reason: CutReason
    response: Response


def standing(mine: Sequence[Item]) -> list[Response]:
    """Return the answers of a run that count, in order: not what an attempt left behind that broke off."""
    return [item for item in mine if is_a(item, ResponseData) and item.status == "completed" and not item.data.cut_off]


def has_calls(mine: Sequence[Item], response: Response) -> bool:
    """Return whether an answer asked for calls."""
    turn = response.data.turn
    return any(is_a(item, CallData) and item.data.turn == turn and not item.data.cut_off for item in mine)


def goes_on(turns: Sequence[Response]) -> bool:
    """Return whether the last of a run's answers is to be continued: it was said so, or its provider only paused."""
    last = turns[-1].data
    return last.go_on or (last.stop == "pause" and _pauses(turns) <= limits.PAUSES)


def continued(mine: Sequence[Item]) -> str | None:
    """Return the id of the answer that the next one continues; None when it begins anew."""
    turns = standing(mine)
    return turns[-1].id if turns and goes_on(turns) and not has_calls(mine, turns[-1]) else None


def _pauses(turns: Sequence[Response]) -> int:
    """Return how many of the last answers the provider paused in a row, since the person last said to go on."""
    count = 0
    for item in reversed(turns):
        if item.data.stop != "pause" or item.data.go_on:
            break
        count += 1
    return count


def cut(mine: Sequence[Item], context_window: int) -> Cut | None:
    """Return how a run's last answer was cut; None for one that is at its end, or goes on."""
    turns = standing(mine)
    if not turns or goes_on(turns) or has_calls(mine, turns[-1]):
        return None
    reason = _reason(turns[-1], context_window)
    return Cut(reason, turns[-1]) if reason is not None else None


def _reason(response: Response, context_window: int) -> CutReason | None:
    match response.data.stop:
        case "length":
            # Servers have one word for both: their limit was reached, or there was no more room.
            return "context" if tokens(response) >= context_window * limits.WINDOW_FULL else "length"
        case "context":
            return "context"
        case "pause":
            return "pause"
        case _:
            return None


def tokens(response: Response) -> int:
    """Return how many tokens a request and its answer had."""
    usage = response.data.usage
    return usage.input + usage.output if usage is not None else 0


def is_told(mine: Sequence[Item], cut: Cut) -> bool:
    """Return whether the person was told that an answer was cut."""
    return cut.response.id in _told(mine)


def _told(mine: Sequence[Item]) -> set[str | None]:
    """Return the answers of which the person was told that they were cut."""
    return {item.data.response for item in mine if is_a(item, NoticeData) and item.data.code == CUT_SHORT}


def may_go_on(mine: Sequence[Item]) -> bool:
    """Return whether an answer that the window cut goes on by itself once there is room: not again and again."""
    told = _told(mine)
    by_itself = 0
    for item in reversed(standing(mine)[:-1]):
        if not item.data.go_on or item.id in told:
            break
        by_itself += 1
    return by_itself < limits.WINDOW_GO_ONS


def words(cut: Cut, context_window: int, wished: int | None) -> tuple[str, JsonObject]:
    """Return what the person is told about an answer that was cut: what happened, and beside it what to do.

    `wished` is the limit that a person set; another one is the model's own.
    """
    longer = _LONGER if wished is not None else _GO_ON
    usage = cut.response.data.usage
    output = usage.output if usage is not None else 0
    most = f"its limit of {output:,} tokens" if output else "the limit of tokens for one answer"
    match cut.reason:
        case "length" if cut.response.text:
            text, fix = f"The answer was cut at {most}.", longer
        case "length":
            text, fix = f"The model reached {most} before it said anything.", longer
        case "context":
            text = f"The answer was cut: the conversation fills the model's window of {context_window:,} tokens."
            fix = "Choose a model with a larger window and go on, or begin a new conversation."
        case "pause":
            text = f"The provider paused the answer {limits.PAUSES + 1} times in a row, so it was left there."
            fix = _GO_ON
    return text, patch(
        NoticeData, level="warning", code=CUT_SHORT, reason=cut.reason, fix=fix, response=cut.response.id
    )
