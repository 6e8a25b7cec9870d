"""What models were asked for: in tokens as their providers counted them, and in dollars where a price is known."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Literal

import msgspec

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import Frozen

# What fills a model's window.
ContextKind = Literal["system", "tools", "files", "results", "thinking", "conversation", "summary", "pictures"]
# Who counted: the provider, for the last answer; or nobody, and it is told by its length.
Counted = Literal["provider", "estimate"]
UsageFormat = Literal["csv", "json"]


class TokenUsage(Frozen, frozen=True):
    """Tokens as the provider counted them; `input` includes what was cached."""

    cache_read: int = 0
    cache_write: int = 0
    input: int = 0
    output: int = 0
    reasoning: int = 0
    # The provider did not come to say it, or not all of it: what is missing is reckoned by length.
    estimated: bool = False


class Spent(msgspec.Struct, frozen=True):
    """What a run has used up: answers of its model, all tokens, answers that the agent was given beyond, dollars."""

    turns: int = 0
    tokens: int = 0
    added: int = 0
    cost: float = 0.0


class Used(msgspec.Struct, frozen=True):
    """What one request to a model used."""

    model: str
    usage: TokenUsage
    # In dollars; None where no price is known.
    cost: float | None = None


class UsageSum(Frozen, frozen=True):
    """What several requests used together; `input` includes what was cached."""

    requests: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    # About what those cost whose price is known, and how many these are; None where it is known of none.
    cost: float | None = None
    cost_known_for: int = 0
    # How many of them their providers did not come to count: they are reckoned by length.
    estimated: int = 0


class DayUsage(UsageSum, frozen=True, kw_only=True):
    """What one model was asked for on one day, which is a day of the server's own clock: YYYY-MM-DD."""

    day: str
    model: str
    # As it is called now; its id where it is gone.
    model_name: str = ""


class UsageReport(Frozen, frozen=True):
    """What was used lately, newest day first: answers, summaries of results, summaries of older turns, and titles."""

    # The first day and the last, whether or not something was used then.
    since: str
    until: str
    days: tuple[DayUsage, ...]
    total: UsageSum
    today: UsageSum
    # What today may cost, with what was added to it; None without a budget.
    budget_today: float | None = None
    # Where prices come from: the table and its day, and the models whose price a person set.
    prices_from: str = ""
    # Whether something of before an upgrade is still to be counted.
    incomplete: bool = False


class DaySpending(msgspec.Struct, frozen=True):
    """What one day cost so far, and what its budget was raised to by going on."""

    cost: float = 0.0
    raised: float = 0.0


class UsageRows(msgspec.Struct, frozen=True):
    """What was counted, newest day first, and whether something is still to be counted."""

    rows: tuple[DayUsage, ...]
    incomplete: bool = False


class RequestUsage(msgspec.Struct, frozen=True):
    """What one request of a conversation used, or a message that began a run and used nothing itself."""

    item_id: str
    run_id: str
    at: float
    used: Used | None = None


class ContextPart(Frozen, frozen=True):
    """One of the things that fill the window."""

    kind: ContextKind
    label: str
    tokens: int
    # The MCP server whose tools or results these are.
    server: str = ""


class RunUsage(UsageSum, frozen=True, kw_only=True):
    """What one message took to be answered."""

    run_id: str
    started_at: float
    # The model that answered last.
    model: str
    model_name: str = ""
    # The message.
    item_id: str = ""


class ContextLedger(Frozen, frozen=True):
    """What the next request of a conversation is made of, and what all of its requests took."""

    model: str
    model_name: str
    window: int
    # In tokens; the parts add up to it.
    used: int
    counted: Counted
    # From here on older turns are summed up.
    compact_above: int
    parts: tuple[ContextPart, ...]
    # How much of the last request its provider had in its cache.
    cached: int
    totals: UsageSum
    # Newest first, and only the newest.
    runs: tuple[RunUsage, ...]
    # "$3 in, $15 out per 1M tokens"; empty where the prices are not known.
    price_label: str = ""
    # One sentence where the conversation's model cannot be asked any more; the window is then 0: nobody knows it.
    gone: str = ""


def day_of(at: float) -> str:
    """Return the day of a moment by this machine's clock."""
    return time.strftime("%Y-%m-%d", time.localtime(at))


def first_day(days: int) -> str:
    """Return the first of so many days up to today; raise one sentence for a number that is none of days."""
    if not 1 <= days <= limits.USAGE_DAYS:
        raise PilothouseError("bad_request", f"The number of days is one from 1 to {limits.USAGE_DAYS:,}.")
    now = time.localtime()
    # At noon, which an hour more or less in a year does not move to another day.
    return day_of(time.mktime((now.tm_year, now.tm_mon, now.tm_mday - days + 1, 12, 0, 0, 0, 0, -1)))


def added_up(sums: Iterable[UsageSum]) -> UsageSum:
    """Return what several sums come to."""
    listed = list(sums)
    costs = [one.cost for one in listed if one.cost is not None]
    return UsageSum(
        requests=sum(one.requests for one in listed),
        input=sum(one.input for one in listed),
        output=sum(one.output for one in listed),
        cache_read=sum(one.cache_read for one in listed),
        cache_write=sum(one.cache_write for one in listed),
        cost=sum(costs) if costs else None,
        cost_known_for=sum(one.cost_known_for for one in listed),
        estimated=sum(one.estimated for one in listed),
    )


def sum_of(used: Used) -> UsageSum:
    """Return what one request used as a sum."""
    usage = used.usage
    return UsageSum(
        requests=1,
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        cost=used.cost,
        cost_known_for=0 if used.cost is None else 1,
        estimated=int(usage.estimated),
    )
