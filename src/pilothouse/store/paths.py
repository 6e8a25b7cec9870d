"""What stands on the path of a branch: its own items, and of those before it what belongs to earlier messages."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from pilothouse.store.statements import Connection, Statement
from pilothouse.types.branches import Branch
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
# Some steps of it, from any of them on: of a long path the first ones are enough to open it.
_STEPS = Statement(
    PATH.replace("CAST(:most AS BIGINT), CAST(:most AS BIGINT)", "CAST(:before AS BIGINT), CAST(:until AS BIGINT)")  # noqa: S608
    + "SELECT path.number, COALESCE((SELECT m.position FROM branches b JOIN items m ON m.id = b.item_id "
    "WHERE b.conversation_id = :id AND b.number = path.number), 0), path.before, path.until FROM path LIMIT :steps"
)
# Where a stretch lies. For PostgreSQL in words that only the index of branches answers in order: it would go through
# all that was said elsewhere.
_WITHIN = {
    "sqlite": "conversation_id = :id AND branch = :branch{n} AND position >= :from{n} AND position < :to{n}",
    "postgresql": "conversation_id = :id AND (branch, position) >= (:branch{n}, :from{n}) "
    "AND (branch, position) < (:branch{n}, :to{n})",
}
# Each stretch by itself, which reads no more than it needs: of a join over all of them the databases read everything.
_STRETCH = (
    "SELECT position, body FROM items WHERE {within}{late}{more} ORDER BY branch {order}, position {order} LIMIT :limit"
)
BRANCH_COLUMNS = ", ".join(Branch.__struct_fields__)
_BRANCHES = f"SELECT {BRANCH_COLUMNS} FROM branches WHERE conversation_id = :id AND"  # noqa: S608
# What stands in the place of messages between two positions, and of one message; a replay is no way on.
_LEAVING = f"{_BRANCHES} before BETWEEN :first AND :last AND kind <> 'replay'"
_BESIDE = f"{_BRANCHES} before = :place{{n}} AND (kind <> 'replay' OR number = :branch)"
_OF_RUNS = {
    "sqlite": Statement("SELECT body FROM runs WHERE id IN (SELECT value FROM json_each(:ids))"),
    "postgresql": Statement("SELECT body FROM runs WHERE id IN (SELECT json_array_elements_text(CAST(:ids AS json)))"),
}
_SUMMED_UP = " AND kind = 'compaction' AND status = 'completed'"
_CALLED = " AND kind IN ('tool_call', 'notice')"
_SENT = " AND (position >= :since OR kind = 'question' OR (kind = 'user_message' AND position >= :messages))"
# Steps of a path that are looked for at once, and stretches that one statement reads: most paths have fewer.
_STEPS_TOGETHER = 8
_TOGETHER = 2 * _STEPS_TOGETHER
_Order = Literal["DESC", "ASC"]


class _Stretch(NamedTuple):
    """A part of one branch: from a position up to another; of a late one, what belongs to messages before a place."""

    branch: int
    first: int
    end: int
    late: int | None = None

    def within(self, first: int, end: int) -> _Stretch:
        """Return what of it lies between two positions."""
        return _Stretch(self.branch, max(self.first, first), min(self.end, end), self.late)


class _Wanted(NamedTuple):
    """Which items of a path are read: so many, between two positions, in an order, under a condition."""

    order: _Order
    limit: int = _MOST
    first: int = 0
    end: int = _MOST
    condition: str = ""


class _Few(NamedTuple):
    """Some stretches of a path, and up to where all that are left go; in the other order, from where on they lie."""

    stretches: Sequence[_Stretch]
    left: int
    # The branches there with the positions before which they are shared, and the one that comes next.
    steps: Sequence[tuple[int, int]] = ()


class PathPage(NamedTuple):
    """The bodies of some items of a path, and the branches that leave it or lead to it among them."""

    bodies: list[bytes]
    branches: tuple[Branch, ...]


class BranchPath(NamedTuple):
    """A branch of a conversation, and everything that leads to it."""

    conversation_id: str
    number: int

    def before(self, connection: Connection, position: int, limit: int) -> PathPage:
        """Return the bodies of items before a position, the last first, and what stands in the place of one of them."""
        steps: list[tuple[int, int]] = []
        found = self._found(connection, _Wanted("DESC", limit, end=position), steps)
        if not found:
            return PathPage([], ())
        asked: dict[str, object] = {"id": self.conversation_id, "branch": self.number}
        asked |= {"first": found[-1][0], "last": found[0][0]}
        # A branch begins where the one before it is left.
        places = {before for _, before in steps if before < _MOST}
        asked |= {f"place{n}": place for n, place in enumerate(places)}
        rows = {row[0]: row for row in _leaving(len(places)).rows(connection, asked)}
        ends = dict(steps)
        branches = (Branch(*rows[number]) for number in sorted(rows))
        return PathPage(
            [body for _, body in found], tuple(each for each in branches if each.before <= ends.get(each.parent, -1))
        )

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
        return [body for _, body in self._found(connection, wanted, [], **values)]

    def _found(
        self, connection: Connection, wanted: _Wanted, taken: list[tuple[int, int]], **values: int
    ) -> list[tuple[Any, ...]]:
        """Return the positions and bodies of what is wanted; add the steps that were taken for it."""
        found: list[tuple[Any, ...]] = []
        ways = self._downwards(connection) if wanted.order == "DESC" else self._upwards(connection)
        for few, left, steps in ways:
            taken += steps
            read = self._read(connection, few, wanted, values)
            found += read
            if len(few) > 1 or len(found) > len(read):
                found.sort(key=itemgetter(0), reverse=wanted.order == "DESC")
            if len(found) >= wanted.limit and _is_enough(found[wanted.limit - 1][0], left, wanted.order):
                break
        return found[: wanted.limit]

    def _read(
        self, connection: Connection, few: Sequence[_Stretch], wanted: _Wanted, values: dict[str, int]
    ) -> list[tuple[Any, ...]]:
        within = [each.within(wanted.first, wanted.end) for each in few]
        within = [each for each in within if each.first < each.end]
        if not within:
            return []
        asked: dict[str, object] = {"id": self.conversation_id, "limit": wanted.limit, **values}
        for number, each in enumerate(within):
            asked |= {f"branch{number}": each.branch, f"from{number}": each.first, f"to{number}": each.end}
            if each.late is not None:
                asked[f"late{number}"] = each.late
        kinds = tuple(each.late is not None for each in within)
        return _of(kinds, wanted.order, wanted.condition).rows(connection, asked)

    def _downwards(self, connection: Connection) -> Iterator[_Few]:
        """Look for the parts of branches that it is made of, its own first, only as far as they are asked for."""
        if not self.number:
            yield _Few((_Stretch(0, 0, _MOST),), 0, ((0, _MOST),))
            return
        at: tuple[int, int, int] | None = (self.number, _MOST, _MOST)
        while at is not None:
            number, before, until = at
            asked = {"id": self.conversation_id, "branch": number, "before": before, "until": until, "most": _MOST}
            steps = _STEPS.rows(connection, asked | {"steps": _STEPS_TOGETHER + 1})
            few = [each for step in steps[:_STEPS_TOGETHER] for each in _stretches(*step)]
            # What leads to a branch is shared at most as long as the branch itself is.
            last, _, before, until = steps[-1]
            at = (last, before, until) if len(steps) > _STEPS_TOGETHER else None
            yield _Few(few, 0 if at is None else until, [(step[0], step[2]) for step in steps])

    def _upwards(self, connection: Connection) -> Iterator[_Few]:
        """Return the parts of branches that it is made of, its own last."""
        every = [each for few in self._downwards(connection) for each in few.stretches][::-1]
        for at in range(0, len(every), _TOGETHER):
            left = (each.first for each in every[at + _TOGETHER :])
            yield _Few(every[at : at + _TOGETHER], min(left, default=_MOST))


def _stretches(number: int, first: int, before: int, until: int) -> list[_Stretch]:
    """Return what a path has of one of its branches: what was written late first."""
    late = [_Stretch(number, max(first, before), until, before)] if before < until else []
    return [*late, _Stretch(number, first, before)]


def _is_enough(last: int, left: int, order: _Order) -> bool:
    """Return whether no stretch that is left can have anything that comes before the last of those that are wanted."""
    return left <= last if order == "DESC" else left > last


@cache
def _of(late: tuple[bool, ...], order: _Order, condition: str) -> Statement:
    """Return what reads some stretches at once."""

    def of(dialect: str) -> str:
        parts = []
        for n, each in enumerate(late):
            within, message = _WITHIN[dialect].format(n=n), f" AND {_MESSAGE} < :late{n}" if each else ""
            parts.append(_STRETCH.format(within=within, late=message, more=condition, order=order))
        if len(parts) == 1:
            return parts[0]
        # Each in its own order and up to its own limit.
        return " UNION ALL ".join(f"SELECT * FROM ({part}) AS part{n}" for n, part in enumerate(parts))  # noqa: S608

    return Statement(of("sqlite"), of("postgresql"))


@cache
def _leaving(places: int) -> Statement:
    """Return what reads the branches in the place of some messages, and beside those that begin a branch."""
    return Statement(" UNION ALL ".join((_LEAVING, *(_BESIDE.format(n=n) for n in range(places)))))


def runs(connection: Connection, ids: Iterable[str]) -> list[bytes]:
    """Return the bodies of runs."""
    return _OF_RUNS[connection.dialect.name].column(connection, {"ids": encode_text(sorted(ids))})
