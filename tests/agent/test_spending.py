"""What a request may cost is reckoned before it is made, and a budget that it would pass is asked about."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pilothouse.agent.budget import Excess, counted_last
from pilothouse.agent.spending import Estimate, NoDay, Purse, estimate, stopped_untold
from pilothouse.types import limits
from pilothouse.types.items import Item
from pilothouse.types.models import ModelConfig
from pilothouse.types.prices import Prices, dollars
from pilothouse.types.settings import Settings
from pilothouse.types.usage import DaySpending
from tests.agent.items import A_MODEL, item

PRICES = Prices(input=2.0, output=10.0)
PRICED = ModelConfig(id="m", name="M", provider="scripted", prices=PRICES)
MESSAGE = item(1, "user_message", "Go")


def answer(position: int, cost: float | None = None, **usage: int) -> Item:
    return item(position, "response", "x", turn=f"{position}.1", usage=usage, cost=cost)


def said(position: int, choice: str, reason: str, raised: float) -> Item:
    answered = {"by": "local", "at": 1.0, "choice": choice}
    return item(position, "question", "Go on?", kind="limit", reason=reason, raised=raised, answer=answered)


class Day(NoDay):
    """A day that cost so much."""

    def __init__(self, cost: float, raised: float = 0.0) -> None:
        self._spent = DaySpending(cost, raised)

    async def spent(self) -> DaySpending:
        return self._spent


async def excess(settings: Settings, mine: Sequence[Item], coming: Estimate, day: Day | None = None) -> Excess | None:
    return await Purse(lambda: settings, day).excess([MESSAGE, *mine], coming)


@pytest.mark.case("F-32", "TMO-13")
async def test_a_run_asks_before_it_has_used_its_tokens() -> None:
    settings = Settings(run_token_budget=10_000)
    used = answer(2, input=6_000, output=1_000)
    assert await excess(settings, [used], Estimate(3_000)) is None
    found = await excess(settings, [used], Estimate(3_001))
    assert found is not None
    assert found.reason == "tokens"
    assert "10,000 tokens: 7,000 tokens so far, and the next request may take 3,001 tokens." in found.question
    assert await excess(settings, [used, said(3, "continue", "tokens", 20_000)], Estimate(13_000)) is None
    # An earlier version only asked whether to go on.
    assert await excess(settings, [used, said(3, "continue", "tokens", 0)], Estimate(13_000)) is None
    # Going on at another limit raises nothing here.
    for reason in ("run_budget", "day_budget", "iterations", "repetition"):
        assert await excess(settings, [used, said(3, "continue", reason, 50_000)], Estimate(3_001)) is not None
    assert await excess(Settings(run_token_budget=0), [used], Estimate(10**9)) is None


async def test_a_run_asks_before_it_costs_more_than_its_budget() -> None:
    settings = Settings(budget_per_run=1.0)
    paid = [answer(2, 0.4, input=1), item(3, "tool_summary", usage={"input": 1}, cost=0.2)]
    broken = item(4, "response", "h", "failed", cutOff=True, turn="3.1", usage={"input": 1}, cost=0.1)
    summed_up = item(5, "compaction", "s", keepFrom=0, usage={"input": 1}, cost=0.2)
    mine = [*paid, broken, summed_up]
    assert await excess(settings, mine, Estimate(1, 0.09)) is None
    found = await excess(settings, mine, Estimate(1, 0.11))
    assert found is not None
    assert (found.reason, found.raised) == ("run_budget", 2)
    assert found.question == (
        "The budget for one message is $1.00: $0.90 so far, and the next request may take $0.11. "
        "Go on, with a budget of $2.00?"
    )
    # Going on for another reason raises the rounds only.
    assert await excess(settings, [*mine, said(6, "continue", "iterations", 0)], Estimate(1, 0.11)) is not None
    assert await excess(settings, [*mine, said(6, "continue", "run_budget", 2)], Estimate(1, 1.09)) is None
    again = await excess(settings, [*mine, said(6, "continue", "run_budget", 2)], Estimate(1, 1.11))
    assert again is not None
    assert again.raised == 3


async def test_a_day_counts_what_all_conversations_cost() -> None:
    settings = Settings(budget_per_day=5.0)
    assert await excess(settings, [], Estimate(1, 1.0), Day(4.0)) is None
    found = await excess(settings, [], Estimate(1, 1.01), Day(4.0))
    assert found is not None
    assert (found.reason, found.raised) == ("day_budget", 10)
    assert await excess(settings, [], Estimate(1, 1.01), Day(4.0, raised=10)) is None
    # What costs nothing passes nothing, however much was spent.
    assert await excess(settings, [], Estimate(10**6), Day(400.0)) is None


async def test_one_question_raises_a_budget_as_often_as_one_request_needs() -> None:
    found = await excess(Settings(budget_per_run=0.01), [], Estimate(1, 0.255))
    assert found is not None
    assert found.raised == pytest.approx(0.26)
    assert "with a budget of $0.26?" in found.question
    raised = said(2, "continue", "run_budget", found.raised)
    assert await excess(Settings(budget_per_run=0.01), [raised], Estimate(1, 0.255)) is None


async def test_what_the_person_agreed_to_stays_an_amount_when_the_budget_is_set_anew() -> None:
    agreed = said(2, "continue", "run_budget", 0.26)
    assert await excess(Settings(budget_per_run=10), [agreed], Estimate(1, 9.9)) is None
    found = await excess(Settings(budget_per_run=10), [agreed], Estimate(1, 10.1))
    assert found is not None
    assert "The budget for one message is $10.00" in found.question
    assert found.raised == 20


def test_an_answer_that_broke_off_takes_nothing_away_from_what_was_counted() -> None:
    broken = item(3, "response", "h", "cancelled", turn="3.1")
    failed = item(4, "compaction", "", "failed", keep="")
    assert counted_last([answer(2, input=50_000, output=3_000), broken, failed]) == 53_000
    done = item(5, "compaction", "s", keepFrom=3)
    assert counted_last([answer(2, input=50_000, output=3_000), broken, done]) == 0


def test_an_estimate_reckons_with_all_that_is_read_and_a_longer_answer_than_the_longest() -> None:
    read = 40_000
    by_length = estimate(PRICED, read * limits.CHARS_PER_TOKEN)
    written = limits.BUDGET_ANSWER_TOKENS
    assert by_length.tokens == read + written
    assert by_length.cost == pytest.approx((read * 2 + written * 10) / 1_000_000)
    counted = [answer(2, input=50_000, output=3_000)]
    assert estimate(PRICED, 4, counted).tokens == 53_000 + 3_000
    assert estimate(PRICED, 4, counted, most=100).tokens == 53_000 + 100
    assert estimate(PRICED, 4, [*counted, item(3, "compaction", "s")]).tokens == 1 + 3_000
    assert estimate(A_MODEL, 400).cost == 0.0


def test_an_estimate_takes_the_dearer_of_reading_and_of_keeping_in_the_cache() -> None:
    config = ModelConfig(name="M", provider="scripted", prices=Prices(input=2.0, output=0.0, cache_write=2.5))
    assert estimate(config, 4_000_000).cost == pytest.approx(2.5)


def test_stopping_at_a_budget_is_told_once() -> None:
    asked = [MESSAGE, said(2, "stop", "run_budget", 2)]
    assert stopped_untold(asked)
    assert not stopped_untold([*asked, item(3, "notice", "Stopped.", code="budget_stop")])
    assert not stopped_untold([MESSAGE, said(2, "stop", "iterations", 0)])
    assert not stopped_untold([MESSAGE, said(2, "continue", "run_budget", 2)])


@pytest.mark.parametrize(
    ("amount", "words"),
    [(0, "$0.00"), (0.00001, "less than $0.0001"), (0.0042, "$0.0042"), (0.05, "$0.05"), (1234.5, "$1,234.50")],
)
def test_dollars_have_the_digits_that_say_something(amount: float, words: str) -> None:
    assert dollars(amount) == words
