"""What a run may spend: before a request that would pass a budget, the person is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import msgspec

from pilothouse.agent.budget import CONTINUE, STOP, Excess, allowances, counted_last, spent
from pilothouse.types import limits
from pilothouse.types.item_data import LimitData, NoticeData, QuestionData, ResponseData
from pilothouse.types.items import Item, is_a
from pilothouse.types.models import ModelConfig
from pilothouse.types.prices import dollars
from pilothouse.types.settings import Settings
from pilothouse.types.stream import Usage
from pilothouse.types.usage import DaySpending

# The code of the notice about a run that the person stopped at a budget.
STOPPED = "budget_stop"
STOPPED_WORDS = "Stopped, as you said: the next request could have passed the budget."


class Estimate(NamedTuple):
    """What a request may use, cautiously: as if nothing of it were cached."""

    tokens: int
    # In dollars; 0 where no price is known.
    cost: float = 0.0


class DayPurse(Protocol):
    """What a day has cost, over all conversations and processes."""

    async def spent(self) -> DaySpending:
        """Return what it cost so far, with what other runs of this process may cost that are being answered."""

    def expect(self, cost: float) -> None:
        """Say what a request may cost that is made now, and as much less than nothing when it was answered."""


class NoDay:
    """A day that nobody counts; implements `DayPurse`."""

    async def spent(self) -> DaySpending:
        """Return that nothing was spent."""
        return DaySpending()

    def expect(self, cost: float) -> None:
        """Forget it."""


class _Budget(NamedTuple):
    """One of the budgets, how far it is used up, and what it was raised to."""

    reason: str
    limit: float
    so_far: float
    coming: float
    raised: float
    # For what it is, and what sets it.
    what: str
    setting: str
    words: Callable[[float], str] = dollars


def estimate(config: ModelConfig, characters: int, items: Sequence[Item] = (), most: int | None = None) -> Estimate:
    """Return what a request with so much to read may use; its answer is as long as the longest so far, at least.

    A request extends the one before it, so that it has no fewer tokens than that had. `most` bounds the answer.
    """
    read = max(characters // limits.CHARS_PER_TOKEN, counted_last(items))
    answers = (item.data.usage for item in items if is_a(item, ResponseData))
    longest = max((usage.output for usage in answers if usage is not None), default=0)
    written = min(max(longest, limits.BUDGET_ANSWER_TOKENS), most or limits.TOKENS)
    prices = config.costs
    if prices is None:
        return Estimate(read + written)
    usage = Usage(input=read, output=written)
    # What a provider puts into its cache may cost more than what it only reads.
    kept = msgspec.structs.replace(usage, cache_write=read)
    return Estimate(read + written, max(prices.cost(usage), prices.cost(kept)))


class Purse:
    """What one run may spend."""

    def __init__(self, settings: Callable[[], Settings] = Settings, day: DayPurse | None = None) -> None:
        self._settings = settings
        # As they were when the run began: a look at their file before every request would be for nothing.
        self._known = settings()
        self._day: DayPurse = day or NoDay()

    async def excess(self, mine: Sequence[Item], coming: Estimate) -> Excess | None:
        """Return the budget that a run's next request would pass, as it is set now."""
        if await self._passed(mine, coming) is None:
            return None
        self._known = self._settings()
        return await self._passed(mine, coming)

    async def _passed(self, mine: Sequence[Item], coming: Estimate) -> Excess | None:
        settings, used = self._known, spent(mine)
        day = await self._day.spent() if settings.budget_per_day and coming.cost else DaySpending()
        message, today = "for one message", "for today"
        budgets = (
            _Budget(
                *("tokens", settings.run_token_budget, used.tokens, coming.tokens),
                *(_tokens_raised(mine, settings.run_token_budget), message, "run_token_budget"),
                lambda number: f"{number:,.0f} tokens",
            ),
            _Budget(
                *("run_budget", settings.budget_per_run, used.cost, coming.cost),
                *(_raised(mine, "run_budget"), message, "budget_per_run"),
            ),
            _Budget(
                *("day_budget", settings.budget_per_day, day.cost, coming.cost),
                *(day.raised, today, "budget_per_day"),
            ),
        )
        return next((excess for each in budgets if (excess := _passed(each)) is not None), None)

    async def covers(self, mine: Sequence[Item], coming: Estimate) -> bool:
        """Return whether a request passes no budget, about which nobody is asked: it can be left undone."""
        return await self.excess(mine, coming) is None

    @contextmanager
    def paying(self, coming: Estimate) -> Iterator[None]:
        """Let others reckon with a request while it is made."""
        self._day.expect(coming.cost)
        try:
            yield
        finally:
            self._day.expect(-coming.cost)


def _passed(budget: _Budget) -> Excess | None:
    total, limit = budget.so_far + budget.coming, budget.limit
    now = max(limit, budget.raised)
    if not limit or not budget.coming or total <= now:
        return None
    # As often as it takes for this one request, so that nobody is asked twice about the same.
    raised = max(now + limit, math.ceil(total / limit) * limit)
    words = budget.words
    so_far = words(budget.so_far) if budget.so_far else "nothing was used"
    facts = f"{so_far} so far, and the next request may take {words(budget.coming)}"
    return Excess(
        budget.reason,
        f"The budget {budget.what} is {words(now)}: {facts}. Go on, with a budget of {words(raised)}?",
        raised=raised,
        refusal=f"The budget {budget.what} is {words(now)}: {facts}.",
        fix=f"Raise it: pilothouse settings {budget.setting} {raised:.12g}",
    )


def _raised(mine: Sequence[Item], reason: str) -> float:
    """Return what a budget was raised to by going on."""
    asked = [item.data for item in mine if is_a(item, QuestionData) and isinstance(item.data, LimitData)]
    return max((one.raised for one in asked if one.reason == reason and _said(one) == CONTINUE), default=0.0)


def _tokens_raised(mine: Sequence[Item], limit: int) -> float:
    """Return what the budget of tokens was raised to; an earlier version only asked whether to go on."""
    return max(_raised(mine, "tokens"), limit * allowances(mine, "tokens"))


def _said(question: LimitData) -> str | None:
    return question.answer.choice if question.answer is not None else None


def stopped_untold(mine: Sequence[Item]) -> bool:
    """Return whether the person stopped a run at a budget and was not told yet that it ends with that."""
    asked = [item.data for item in mine if is_a(item, QuestionData) and isinstance(item.data, LimitData)]
    told = any(is_a(item, NoticeData) and item.data.code == STOPPED for item in mine)
    return bool(asked) and asked[-1].raised > 0 and _said(asked[-1]) == STOP and not told
