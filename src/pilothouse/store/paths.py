"""What stands on the path of a branch: its own items, and of those before it what belongs to earlier messages."""

from __future__ import annotations

import sys
from typing import NamedTuple

from pilothouse.store.statements import Connection, Statement

# The branches that lead to one, each with the position before which it is shared: of the one itself, all of it.
PATH = (
    "WITH RECURSIVE path (number, before) AS (SELECT CAST(:branch AS INTEGER), CAST(:most AS BIGINT) UNION ALL "
    "SELECT b.parent, b.before FROM branches b JOIN path ON b.conversation_id = :id AND b.number = path.number "
    # A branch leaves one that was there before it: whatever rows say, a path comes to an end.
    "AND b.parent < b.number) "
)
# What a run did belongs to its message, also where it was done after later ones came.
ON_PATH = (
    "(path.before = :most OR COALESCE((SELECT m.position FROM items m WHERE m.run_id = items.run_id "
    "AND m.kind = 'user_message' ORDER BY m.position LIMIT 1), items.position) < path.before)"
)
_ITEMS = (
    "SELECT items.body FROM items JOIN path ON items.branch = path.number "  # noqa: S608 - all of it is ours
    "WHERE conversation_id = :id AND " + ON_PATH
)
_BEFORE = Statement(f"{PATH}{_ITEMS} AND position < :position ORDER BY position DESC LIMIT :limit")
_AFTER = Statement(f"{PATH}{_ITEMS} AND position > :position ORDER BY position LIMIT :limit")
_COMPACTION = Statement(
    f"{PATH}{_ITEMS} AND kind = 'compaction' AND status = 'completed' ORDER BY position DESC LIMIT 1"
)
_HISTORY = Statement(
    f"{PATH}{_ITEMS} AND (position >= :since OR kind = 'question' "
    "OR (kind = 'user_message' AND position >= :messages)) ORDER BY position"
)
_RUNS = f"FROM runs JOIN path ON runs.branch = path.number WHERE runs.conversation_id = :id AND {ON_PATH}".replace(
    "items.run_id", "runs.id"
).replace("items.position", "0")
_RUNS_SHOWN = Statement(
    f"{PATH}SELECT runs.body {_RUNS} AND runs.id IN "  # noqa: S608
    "(SELECT run_id FROM items WHERE conversation_id = :id AND position >= :first)"
)
_RUN_IDS = Statement(f"{PATH}SELECT runs.id {_RUNS}")
_CALLS = Statement(
    f"{PATH}{_ITEMS} AND kind IN ('tool_call', 'notice') AND position < :position ORDER BY position DESC"
)


class BranchPath(NamedTuple):
    """A branch of a conversation, and everything that leads to it."""

    conversation_id: str
    number: int

    def _values(self, **more: object) -> dict[str, object]:
        return {"id": self.conversation_id, "branch": self.number, "most": sys.maxsize, **more}

    def before(self, connection: Connection, position: int, limit: int) -> list[bytes]:
        """Return the bodies of items before a position, the last first."""
        return _BEFORE.column(connection, self._values(position=position, limit=limit))

    def after(self, connection: Connection, position: int, limit: int) -> list[bytes]:
        """Return the bodies of items after a position."""
        return _AFTER.column(connection, self._values(position=position, limit=limit))

    def compaction(self, connection: Connection) -> bytes | None:
        """Return the body of the newest summary."""
        found: bytes | None = _COMPACTION.first(connection, self._values())
        return found

    def history(self, connection: Connection, since: int, messages: int) -> list[bytes]:
        """Return the bodies of what stands on it from a position on, with what outlives a summary."""
        return _HISTORY.column(connection, self._values(since=since, messages=messages))

    def earlier_calls(self, connection: Connection, position: int) -> list[bytes]:
        """Return the bodies of calls and notices before a position, the last first."""
        return _CALLS.column(connection, self._values(position=position))

    def runs_shown(self, connection: Connection, first: int) -> list[bytes]:
        """Return the bodies of the runs that have something to show from a position on."""
        return _RUNS_SHOWN.column(connection, self._values(first=first))

    def runs(self, connection: Connection) -> set[str]:
        """Return the ids of its runs."""
        return set(_RUN_IDS.column(connection, self._values()))
