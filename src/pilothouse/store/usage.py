"""What models were asked for, counted by day and model in the transaction that keeps the item which says it.

An item counts once: when it comes to say what it used. What writes it again is refused, or says nothing new.
"""

from __future__ import annotations

import time
from collections import defaultdict

import msgspec

from pilothouse.store import rows
from pilothouse.store.packed_text import plain_body
from pilothouse.store.statements import Connection, Statement
from pilothouse.types import limits
from pilothouse.types.item_data import LimitData
from pilothouse.types.items import Item, read
from pilothouse.types.json import JsonObject
from pilothouse.types.usage import (
    DaySpending,
    DayUsage,
    RequestUsage,
    TokenUsage,
    UsageRows,
    UsageSum,
    Used,
    added_up,
    day_of,
    sum_of,
)

# The items for which a model was asked.
ASKED = ("response", "tool_summary", "compaction")
_DAY = 86_400.0
_COUNTS = ("requests", "input", "output", "cache_read", "cache_write", "cost", "cost_known_for", "estimated")
_ADD = Statement(
    f"INSERT INTO usage_days (owner, day, model, {', '.join(_COUNTS)}) "  # noqa: S608 - the names are ours
    f"VALUES (:owner, :day, :model, {', '.join(f':{name}' for name in _COUNTS)}) "
    "ON CONFLICT (owner, day, model) DO UPDATE SET "
    f"{', '.join(f'{name} = usage_days.{name} + excluded.{name}' for name in _COUNTS)}"
)
_SINCE = Statement(
    f"SELECT day, model, {', '.join(_COUNTS)} FROM usage_days "  # noqa: S608 - the names are ours
    "WHERE owner = :owner AND day >= :day ORDER BY day DESC, model"
)
_COST = Statement("SELECT SUM(cost) FROM usage_days WHERE owner = :owner AND day = :day")
_RAISED = Statement("SELECT raised FROM budget_raises WHERE owner = :owner AND day = :day")
_RAISE = Statement(
    "INSERT INTO budget_raises (owner, day, raised) VALUES (:owner, :day, :raised) ON CONFLICT (owner, day) "
    "DO UPDATE SET raised = excluded.raised WHERE budget_raises.raised < excluded.raised"
)
_FORGET = (
    Statement("DELETE FROM usage_days WHERE day < :day"),
    Statement("DELETE FROM budget_raises WHERE day < :day"),
)
_LEFT = Statement("SELECT 1 FROM usage_backlog LIMIT 1")
_REQUESTS = Statement(
    "SELECT body FROM items WHERE conversation_id = :id "
    "AND kind IN ('user_message', 'response', 'tool_summary', 'compaction') ORDER BY position"
)


class _UsedData(msgspec.Struct, frozen=True):
    """The part of an item's data that is counted."""

    model: str = ""
    usage: TokenUsage | None = None
    cost: float | None = None


class _Asked(msgspec.Struct, frozen=True, rename="camel"):
    """The part of an item that is counted: of a long conversation nothing else is taken apart."""

    id: str
    run_id: str | None
    kind: str
    created_at: float
    data: _UsedData


_asked = msgspec.json.Decoder(_Asked)


def used_by(kind: str, raw: JsonObject) -> Used | None:
    """Return what an item says that it used; None where it says nothing."""
    if kind not in ASKED or not raw.get("usage"):
        return None
    data = read(_UsedData, raw)
    return Used(data.model, data.usage, data.cost) if data.usage is not None else None


class Tallies:
    """What the events of one transaction add to the counts.

    Written at its end, in one order: the rows are shared by all conversations, and whoever held one while waiting for
    something else would hold up, or deadlock with, everyone who writes.
    """

    def __init__(self) -> None:
        self._sums: defaultdict[tuple[str, str, str], UsageSum] = defaultdict(UsageSum)
        self._raised: dict[tuple[str, str], float] = {}

    def see(self, owner: str, before: Item | None, after: Item) -> None:
        """Take an item as it was and as it is."""
        if after.kind in ASKED:
            if before is None or used_by(before.kind, before.raw) is None:
                self.add(owner, day_of(after.updated_at), used_by(after.kind, after.raw))
        elif after.kind == "question" and before is not None and not before.raw.get("answer"):
            self._see_answer(owner, after)

    def _see_answer(self, owner: str, question: Item) -> None:
        asked = question.data
        if isinstance(asked, LimitData) and asked.reason == "day_budget" and _goes_on(asked):
            # Of the day on which it was asked: another one has a budget of its own.
            key = (owner, day_of(question.created_at))
            self._raised[key] = max(asked.raised, self._raised.get(key, 0.0))

    def add(self, owner: str, day: str, used: Used | None) -> None:
        """Count one request."""
        if used is not None:
            key = (owner, day, used.model)
            self._sums[key] = added_up((self._sums[key], sum_of(used)))

    def write(self, connection: Connection) -> None:
        """Add what was seen to what was counted before."""
        for (owner, day, model), one in sorted(self._sums.items(), key=lambda pair: pair[0]):
            counts = {name: getattr(one, name) or 0 for name in _COUNTS}
            _ADD.run(connection, {"owner": owner, "day": day, "model": model, **counts})
        for (owner, day), raised in sorted(self._raised.items()):
            _RAISE.run(connection, {"owner": owner, "day": day, "raised": raised})
        self._sums.clear()
        self._raised.clear()


def _goes_on(asked: LimitData) -> bool:
    return asked.answer is not None and asked.answer.choice == "continue"


def since(connection: Connection, owner: str, day: str) -> UsageRows:
    """Return what was used from a day on."""
    found = _SINCE.rows(connection, {"owner": owner, "day": day})
    return UsageRows(tuple(map(_day_usage, found)), incomplete=_LEFT.first(connection, {}) is not None)


def _day_usage(row: tuple[object, ...]) -> DayUsage:
    counts = dict(zip(_COUNTS, row[2:], strict=True))
    # What nobody knows the price of costs nothing that could be told.
    cost = counts["cost"] if counts["cost_known_for"] else None
    return msgspec.convert({"day": row[0], "model": row[1], **_camel(counts), "cost": cost}, DayUsage)


def _camel(counts: dict[str, object]) -> dict[str, object]:
    names = {field.name: field.encode_name for field in msgspec.structs.fields(UsageSum)}
    return {names[name]: value for name, value in counts.items()}


def spent_on(connection: Connection, owner: str, day: str) -> DaySpending:
    """Return what a day cost so far, over all conversations and processes."""
    asked = {"owner": owner, "day": day}
    return DaySpending(float(_COST.first(connection, asked) or 0.0), float(_RAISED.first(connection, asked) or 0.0))


def requests(connection: Connection, owner: str, conversation_id: str) -> list[RequestUsage]:
    """Return what each request of a conversation used, in order, with the messages that began its runs."""
    rows.owned_conversation(connection, owner, conversation_id)
    found = []
    for body in _REQUESTS.column(connection, {"id": conversation_id}):
        item = _asked.decode(plain_body(body))
        data = item.data
        used = Used(data.model, data.usage, data.cost) if data.usage is not None and item.kind in ASKED else None
        if used is not None or item.kind == "user_message":
            found.append(RequestUsage(item.id, item.run_id or "", item.created_at, used))
    return found


def forget(connection: Connection) -> None:
    """Forget what was used longer ago than anyone can ask for."""
    day = day_of(time.time() - (limits.USAGE_DAYS + 1) * _DAY)
    for statement in _FORGET:
        statement.run(connection, {"day": day})
