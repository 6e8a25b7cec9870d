"""At a limit: the person is asked whether to go on; where nobody can be asked, the run ends with a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from pilothouse.agent.budget import CONTINUE, STOP, Excess
from pilothouse.agent.spending import STOPPED, STOPPED_WORDS, stopped_untold
from pilothouse.types.errors import ErrorCode
from pilothouse.types.events import ItemCreated
from pilothouse.types.item_data import ChoiceShown, LimitData, NoticeData
from pilothouse.types.items import Item, patch
from pilothouse.types.ports import Journal
from pilothouse.types.runs import CutReason

_CHOICES = (ChoiceShown(id=CONTINUE, label="Go on"), ChoiceShown(id=STOP, label="Stop here"))


class Outcome(msgspec.Struct, frozen=True):
    """How a run's work ended: it is done, a person is needed, or it failed and why."""

    status: Literal["completed", "waiting", "failed"]
    code: ErrorCode | None = None
    message: str = ""
    fix: str = ""
    # Why the answer is not at its end.
    cut: CutReason | None = None


async def ask_to_go_on(journal: Journal, excess: Excess) -> None:
    """Ask the person whether a run may go on, on which it is then parked."""
    data = patch(LimitData, kind="limit", reason=excess.reason, choices=_CHOICES)
    if excess.raised:
        data |= patch(LimitData, raised=excess.raised)
    question = journal.new("question", status="waiting", text=excess.question, data=data)
    await journal.write(ItemCreated(item=question))


async def ask_for_budget(journal: Journal, excess: Excess, *, unattended: bool) -> Outcome | None:
    """Ask whether a budget may be passed; return how the run ends where nobody can be asked."""
    if unattended:
        return Outcome("failed", "budget_reached", excess.refusal, excess.fix)
    await ask_to_go_on(journal, excess)
    return None


async def tell_stopped(journal: Journal, mine: Sequence[Item]) -> None:
    """Say that a run ends because the person stopped it at a budget, once."""
    if stopped_untold(mine):
        data = patch(NoticeData, level="info", code=STOPPED)
        notice = journal.new("notice", status="completed", text=STOPPED_WORDS, data=data)
        await journal.write(ItemCreated(item=notice))
