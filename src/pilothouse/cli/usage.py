"""`pilothouse usage` and `pilothouse conversations context`: what was used, and what fills a window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pilothouse.cli.run import cost_words
from pilothouse.cli.tables import counted, show_table, when
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.cli.wrapping import say
from pilothouse.connection import connect_host
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.prices import dollars
from pilothouse.types.usage import ContextLedger, DayUsage, UsageReport, UsageSum, added_up

_BAR = 24
# Parts of a character's width, from nothing on.
_EIGHTHS = " ▏▎▍▌▋▊▉"
_SUMS = ("requests", "in", "cached", "out", "cost")


async def usage(days: int, *, as_json: bool, as_csv: bool) -> int:
    """Print what was used by day, or write it for programs."""
    if as_json and as_csv:
        raise PilothouseError(
            "bad_request", "--json and --csv are two ways to print the same.", fix="Take one of them."
        )
    async with connect_host() as api:
        if as_json or as_csv:
            file = await api.usage.export(LOCAL_OWNER, days, "json" if as_json else "csv")
            async for chunk in file.chunks:
                output().write(chunk.decode())
            return 0
        report = await api.usage.report(LOCAL_OWNER, days)
    _show(report, days)
    return 0


def _show(report: UsageReport, days: int) -> None:
    out = output()
    by_day = {day: added_up(row for row in report.days if row.day == day) for day in _each(report.days, "day")}
    # By what it cost where that is known of anything, else by the tokens.
    weights = [_weight(one, report.total) for one in by_day.values()]
    rows = [
        (day, *_cells(one), bar(weight, max(weights)))
        for (day, one), weight in zip(by_day.items(), weights, strict=True)
    ]
    show_table(out, ("day", *_SUMS, ""), rows, none=f"Nothing was used in the last {counted(days, 'day')}.")
    if rows:
        models = {
            name: added_up(row for row in report.days if row.model == name) for name in _each(report.days, "model")
        }
        names = {row.model: row.model_name for row in report.days}
        out.line()
        show_table(out, (*_SUMS, "model"), [(*_cells(one), names[name]) for name, one in models.items()])
        out.line()
        say(out, f"{counted(days, 'day')}: {sum_words(report.total)}")
    if report.budget_today is not None:
        spent = dollars(report.today.cost or 0.0)
        say(out, f"Today: {spent} of a budget of {dollars(report.budget_today)}.")
    say(messages(), f"Prices: {report.prices_from}.", "dim")
    if report.incomplete:
        say(messages(), "Some of what was used before the last upgrade is still to be counted.", "yellow")


def _each(rows: Iterable[DayUsage], field: str) -> list[str]:
    return list(dict.fromkeys(getattr(row, field) for row in rows))


def _weight(one: UsageSum, total: UsageSum) -> float:
    return float(one.input + one.output) if total.cost is None else one.cost or 0.0


def bar(size: float, most: float) -> str:
    """Return a bar as long as a size is of the largest one; what is not nothing can be seen."""
    eighths = max(round(size / most * _BAR * 8), 1) if size > 0 and most > 0 else 0
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _cells(one: UsageSum) -> tuple[str, ...]:
    cost = "" if one.cost is None else dollars(one.cost)
    # Where the price of some is not known, what is told is the least that it was.
    more = "+" if one.cost is not None and one.cost_known_for < one.requests else ""
    return (f"{one.requests:,}", f"{one.input:,}", f"{one.cache_read:,}", f"{one.output:,}", cost + more)


def sum_words(one: UsageSum) -> str:
    """Return what several requests took, in a sentence."""
    words = f"{counted(one.requests, 'request')}, {one.input:,} tokens in"
    words += f" ({one.cache_read:,} cached)" if one.cache_read else ""
    words += f", {one.output:,} out"
    if one.cost is not None:
        unknown = one.requests - one.cost_known_for
        words += f", {cost_words(one.cost)}{f'; of {unknown:,} the price is not known' if unknown else ''}"
    # Their providers did not come to count them.
    words += f"; {one.estimated:,} estimated by length" if one.estimated else ""
    return f"{words}."


async def context(conversation_id: str, *, as_json: bool) -> int:
    """Print what fills a conversation's window, and what its answers took."""
    async with connect_host() as api:
        ledger = await api.conversations.context(LOCAL_OWNER, conversation_id)
    if as_json:
        output().json(ledger)
        return 0
    _show_ledger(ledger)
    return 0


def _show_ledger(ledger: ContextLedger) -> None:
    out = output()
    by = "as its provider counted" if ledger.counted == "provider" else "by length"
    if ledger.gone:
        say(messages(), one_line(ledger.gone), "yellow")
    if ledger.window:
        filled = f"about {ledger.used:,} of {ledger.window:,} tokens ({ledger.used / ledger.window:.0%})"
    else:
        filled = f"about {ledger.used:,} tokens"
    say(out, f"{one_line(ledger.model_name)}: {filled}, {by}.")
    out.line()
    most = max((part.tokens for part in ledger.parts), default=0)
    rows = [(f"{part.tokens:,}", part.label, bar(part.tokens, most)) for part in ledger.parts]
    show_table(out, ("tokens", "what", ""), rows)
    out.line()
    if ledger.totals.requests:
        say(out, f"So far: {sum_words(ledger.totals)}")
        rows_of_runs: Sequence[tuple[str, ...]] = [
            (when(run.started_at), *_cells(run), run.model_name) for run in ledger.runs
        ]
        out.line()
        show_table(out, ("message", *_SUMS, "model"), rows_of_runs)
    aside = [f"Older messages are summed up from {ledger.compact_above:,} tokens on."] if ledger.window else []
    aside += [f"Of the last request {ledger.cached:,} tokens came from the cache."] if ledger.cached else []
    aside += [f"Prices: {ledger.price_label}."] if ledger.price_label else []
    if aside:
        say(messages(), " ".join(aside), "dim")
