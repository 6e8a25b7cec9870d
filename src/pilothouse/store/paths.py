"""What stands on the path of a branch: its own items, and of those before it what belongs to earlier messages."""

from __future__ import annotations

import sys
from typing import NamedTuple

from pilothouse.store.statements import Connection, Statement

# The branches that lead to one, each with the position before which it is shared: of the one itself, all of it. What
# is written there later belongs to it as long as nobody has done anything about the two messages that part there.
PATH = (
    "WITH RECURSIVE path (number, before, until) AS ("
    "SELECT CAST(:branch AS INTEGER), CAST(:most AS BIGINT), CAST(:most AS BIGINT) UNION ALL "
    "SELECT b.parent, b.before, COALESCE((SELECT MIN(CASE WHEN i.position < path.until THEN i.position "
    "ELSE path.until END) FROM items i WHERE i.run_id IN (b.instead_of, b.run_id) AND i.kind <> 'user_message'), "
    "path.until) FROM path JOIN branches b ON b.conversation_id = :id AND b.number = path.number "
    # A branch leaves one that was there before it: whatever rows say, a path comes to an end.
    "AND b.parent < b.number) "
)
_MESSAGE = "(SELECT MIN(m.position) FROM items m WHERE m.run_id = {} AND m.kind = 'user_message')"
# What a run did belongs to its message, also where it was done after later ones came. Only what came late is looked up.
# What is told about files that were put back counts on every path that the run stands on.
ON_PATH = (
    "(path.before = :most OR items.position < path.before OR ((items.position < path.until "
    f"OR items.kind IN ('reminder', 'notice')) AND {_MESSAGE.format('items.run_id')} < path.before))"
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
_RUNS_SHOWN = Statement(
    f"{PATH}SELECT runs.body FROM runs JOIN path ON runs.branch = path.number "  # noqa: S608
    f"WHERE runs.conversation_id = :id AND (path.before = :most OR {_MESSAGE.format('runs.id')} < path.before) "
    "AND runs.id IN (SELECT run_id FROM items WHERE conversation_id = :id AND position >= :first)"
)
_CALLS = Statement(
    f"{PATH}{_ITEMS} AND kind IN ('tool_call', 'notice') AND position < :position ORDER BY position DESC LIMIT :limit"
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

    def calls(self, connection: Connection, position: int, limit: int) -> list[bytes]:
        """Return the bodies of calls and notices before a position, the last first."""
        return _CALLS.column(connection, self._values(position=position, limit=limit))

    def runs_shown(self, connection: Connection, first: int) -> list[bytes]:
        """Return the bodies of the runs that have something to show from a position on."""
        return _RUNS_SHOWN.column(connection, self._values(first=first))
