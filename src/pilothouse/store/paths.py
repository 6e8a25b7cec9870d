"""What stands on the path of a branch: its own items, and of those before it what belongs to earlier messages."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from typing import Literal, NamedTuple

from pilothouse.store.statements import Connection, Statement
from pilothouse.types.json import encode_text

_MOST = sys.maxsize
# The branches that lead to one, each with the position before which it is shared: of the one itself, all of it. What
# is written there later belongs to it until something was done about one of the two messages that part there: whoever
# goes on after that may have read the other.
PATH = (
    "WITH RECURSIVE path (number, before, until) AS ("
    "SELECT CAST(:branch AS INTEGER), CAST(:most AS BIGINT), CAST(:most AS BIGINT) UNION ALL "
    "SELECT b.parent, b.before, COALESCE((SELECT MIN(CASE WHEN i.position < path.until THEN i.position "
    "ELSE path.until END) FROM items i WHERE i.run_id IN (b.instead_of, b.run_id) AND i.kind <> 'user_message'), "
    "path.until) FROM path JOIN branches b ON b.conversation_id = :id AND b.number = path.number "
    # A branch leaves one that was there before it: whatever rows say, a path comes to an end.
    "AND b.parent < b.number) "
)
# What a run did belongs to its message, also where it was done after later ones came.
_MESSAGE = "(SELECT MIN(m.position) FROM items m WHERE m.run_id = items.run_id AND m.kind = 'user_message')"
ON_PATH = (
    "(path.before = :most OR items.position < path.before "
    f"OR (items.position < path.until AND {_MESSAGE} < path.before))"
)
_STRETCHES = Statement(
    f"{PATH}SELECT path.number, COALESCE((SELECT m.position FROM branches b JOIN items m ON m.id = b.item_id "  # noqa: S608
    "WHERE b.conversation_id = :id AND b.number = path.number), 0), path.before, path.until FROM path "
    "ORDER BY path.number DESC"
)
# Each stretch by itself, which reads no more than it needs: of a join over all of them the databases read everything.
_STRETCH = (
    "SELECT position, body FROM (SELECT position, body FROM items WHERE conversation_id = :id "
    "AND branch = :branch{n} AND position >= :from{n} AND position < :to{n}{late}{more} "
    "ORDER BY position {order} LIMIT :limit) AS stretch{n}"
)
_OF_RUNS = {
    "sqlite": Statement("SELECT body FROM runs WHERE id IN (SELECT value FROM json_each(:ids))"),
    "postgresql": Statement("SELECT body FROM runs WHERE id IN (SELECT json_array_elements_text(CAST(:ids AS json)))"),
}
_SUMMED_UP = " AND kind = 'compaction' AND status = 'completed'"
_CALLED = " AND kind IN ('tool_call', 'notice')"
_SENT = " AND (position >= :since OR kind = 'question' OR (kind = 'user_message' AND position >= :messages))"
# Stretches that one statement reads: most paths have fewer.
_TOGETHER = 16
_Order = Literal["DESC", "ASC"]


class _Stretch(NamedTuple):
    """A part of one branch: from a position up to another; of a late one, what belongs to messages before a place."""

    branch: int
    first: int
    end: int
    late: int | None = None

    def within(self, first: int, end: int) -> _Stretch:
        """Return what of it lies between two positions."""
        return self._replace(first=max(self.first, first), end=min(self.end, end))


class _Wanted(NamedTuple):
    """Which items of a path are read: so many, between two positions, in an order, under a condition."""

    order: _Order
    limit: int = _MOST
    first: int = 0
    end: int = _MOST
    condition: str = ""


class BranchPath(NamedTuple):
    """A branch of a conversation, and everything that leads to it."""

    conversation_id: str
    number: int

    def before(self, connection: Connection, position: int, limit: int) -> list[bytes]:
        """Return the bodies of items before a position, the last first."""
        return self._bodies(connection, _Wanted("DESC", limit, end=position))

    def after(self, connection: Connection, position: int, limit: int) -> list[bytes]:
        """Return the bodies of items after a position."""
        return self._bodies(connection, _Wanted("ASC", limit, position + 1))

    def compaction(self, connection: Connection) -> bytes | None:
        """Return the body of the newest summary."""
        return next(iter(self._bodies(connection, _Wanted("DESC", 1, condition=_SUMMED_UP))), None)

    def history(self, connection: Connection, since: int, messages: int) -> list[bytes]:
        """Return the bodies of what stands on it from a position on, with what outlives a summary."""
        return self._bodies(connection, _Wanted("ASC", condition=_SENT), since=since, messages=messages)

    def calls(self, connection: Connection, position: int, limit: int) -> list[bytes]:
        """Return the bodies of calls and notices before a position, the last first."""
        return self._bodies(connection, _Wanted("DESC", limit, end=position, condition=_CALLED))

    def _bodies(self, connection: Connection, wanted: _Wanted, **values: int) -> list[bytes]:
        left = [each.within(wanted.first, wanted.end) for each in self._stretches(connection)]
        left = [each for each in left if each.first < each.end]
        if wanted.order == "ASC":
            left.reverse()
        found: list[tuple[int, bytes]] = []
        while left and not _is_enough(found, left, wanted):
            few, left = left[:_TOGETHER], left[_TOGETHER:]
            asked: dict[str, object] = {"id": self.conversation_id, "limit": wanted.limit, **values}
            for number, each in enumerate(few):
                asked |= {f"branch{number}": each.branch, f"from{number}": each.first, f"to{number}": each.end}
                if each.late is not None:
                    asked[f"late{number}"] = each.late
            kinds = tuple(each.late is not None for each in few)
            found += [(row[0], row[1]) for row in _of(kinds, wanted.order, wanted.condition).rows(connection, asked)]
            found.sort(key=lambda each: each[0], reverse=wanted.order == "DESC")
        return [body for _, body in found[: wanted.limit]]

    def _stretches(self, connection: Connection) -> list[_Stretch]:
        """Return the parts of branches that it is made of, its own first."""
        asked = {"id": self.conversation_id, "branch": self.number, "most": _MOST}
        made: list[_Stretch] = []
        for number, first, before, until in _STRETCHES.rows(connection, asked):
            late = [_Stretch(number, max(first, before), until, before)] if before < until else []
            made += [*late, _Stretch(number, first, before)]
        return made


def _is_enough(found: list[tuple[int, bytes]], left: list[_Stretch], wanted: _Wanted) -> bool:
    """Return whether no stretch that is left can have anything that comes before the last of those that are wanted."""
    if len(found) < wanted.limit:
        return False
    last = found[wanted.limit - 1][0]
    if wanted.order == "DESC":
        return all(each.end <= last for each in left)
    return all(each.first > last for each in left)


@cache
def _of(late: tuple[bool, ...], order: _Order, condition: str) -> Statement:
    """Return what reads some stretches at once."""
    parts = (
        _STRETCH.format(n=n, late=f" AND {_MESSAGE} < :late{n}" if each else "", more=condition, order=order)
        for n, each in enumerate(late)
    )
    return Statement(" UNION ALL ".join(parts))


def runs(connection: Connection, ids: Iterable[str]) -> list[bytes]:
    """Return the bodies of runs."""
    return _OF_RUNS[connection.dialect.name].column(connection, {"ids": encode_text(sorted(ids))})
