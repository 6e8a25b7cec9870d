"""What models were asked for, by day: as a report, and as a file."""

from __future__ import annotations

import io
import time
from collections.abc import AsyncGenerator, Callable, Sequence

import msgspec

from pilothouse.types import limits
from pilothouse.types.exchange import Download
from pilothouse.types.host import Models, Usage
from pilothouse.types.invisible import on_one_line
from pilothouse.types.json import encode
from pilothouse.types.models import ModelView
from pilothouse.types.records import Records
from pilothouse.types.settings import Settings
from pilothouse.types.usage import DayUsage, UsageFormat, UsageReport, added_up, day_of, first_day

_HEAD = (
    "day",
    "model",
    "name",
    "requests",
    "input",
    "output",
    "cacheRead",
    "cacheWrite",
    "cost",
    "costKnownFor",
    "estimated",
)
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class UsageService(Usage):
    """What was counted, with the names that the models have now."""

    def __init__(
        self, records: Records, models: Models, settings: Callable[[], Settings], table: Callable[[], str]
    ) -> None:
        self._records = records
        self._models = models
        self._settings = settings
        # What the prices are from, and of which day.
        self._table = table

    async def report(self, owner: str, days: int = limits.USAGE_DAYS_SHOWN) -> UsageReport:
        first = first_day(days)
        await self._count_older()
        kept = await self._records.usage_since(owner, first)
        views = {view.id: view for view in (await self._models.list(owner)).models}
        named = [_named(row, views.get(row.model)) for row in kept.rows]
        today = day_of(time.time())
        return UsageReport(
            since=first,
            until=today,
            days=tuple(named),
            total=added_up(named),
            today=added_up(row for row in named if row.day == today),
            budget_today=await self._budget(owner, today),
            prices_from=self._prices_from(list(views.values())),
            incomplete=kept.incomplete,
        )

    async def export(self, owner: str, days: int = limits.USAGE_DAYS_SHOWN, format_: UsageFormat = "csv") -> Download:
        report = await self.report(owner, days)
        whole = _table(report.days) if format_ == "csv" else encode(report) + b"\n"
        return Download(name=f"usage-{day_of(time.time())}.{format_}", chunks=_once(whole))

    async def _count_older(self) -> None:
        """Count what an upgrade left to be counted, for a moment: a server goes on with it, a command does not."""
        until = time.monotonic() + limits.USAGE_CATCH_UP
        while time.monotonic() < until and await self._records.count_older():
            pass

    async def _budget(self, owner: str, day: str) -> float | None:
        budget = self._settings().budget_per_day
        if not budget:
            return None
        return max(budget, (await self._records.spent_on(owner, day)).raised)

    def _prices_from(self, views: Sequence[ModelView]) -> str:
        own = ", ".join(view.name for view in views if view.said.prices is not None)
        return f"{self._table()}; of {own} as you set them" if own else self._table()


def _named(row: DayUsage, view: ModelView | None) -> DayUsage:
    return msgspec.structs.replace(row, model_name=view.name if view is not None else row.model)


def _table(rows: Sequence[DayUsage]) -> bytes:
    text = io.StringIO()
    import csv  # noqa: PLC0415 - few want a table

    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEAD)
    for row in rows:
        counts = (row.requests, row.input, row.output, row.cache_read, row.cache_write)
        cost = "" if row.cost is None else f"{row.cost:.9f}".rstrip("0").rstrip(".")
        writer.writerow(
            (row.day, _cell(row.model), _cell(row.model_name), *counts, cost, row.cost_known_for, row.estimated)
        )
    return text.getvalue().encode(errors="replace")


def _cell(text: str) -> str:
    # The id of a script is its path, which may have anything in it.
    line = on_one_line(text)
    return f"'{line}" if line.startswith(_FORMULA) else line


async def _once(data: bytes) -> AsyncGenerator[bytes, None]:
    yield data
