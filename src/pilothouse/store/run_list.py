"""Runs of an owner by their state, in pages."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.store import rows
from pilothouse.store.statements import Connection, Statement
from pilothouse.types.operations import RunEntry, RunList
from pilothouse.types.paging import Page, cursor_of, place_of
from pilothouse.types.runs import ENDED, Run, RunStatus

# As many as there are states; who asks for fewer names the last one again.
_MOST = 7
_FOUND = (
    "SELECT r.body, c.title FROM runs r JOIN conversations c ON c.id = r.conversation_id "
    "WHERE r.owner = :owner AND r.status IN (:s0, :s1, :s2, :s3, :s4, :s5, :s6) "
    "AND c.deleted_at IS NULL AND (r.created_at, r.id) "
)
_OLDEST_FIRST = Statement(f"{_FOUND} > (:at, :run) ORDER BY r.created_at, r.id LIMIT :limit")
_NEWEST_FIRST = Statement(f"{_FOUND} < (:at, :run) ORDER BY r.created_at DESC, r.id DESC LIMIT :limit")
# Beyond any time and any id of ours.
_FIRST, _LAST = (-1.0, ""), (1e18, "~")


def run_list(connection: Connection, owner: str, statuses: Sequence[RunStatus], page: Page) -> RunList:
    """Return the runs in these states; the cursor is the time and the id of the last."""
    ended = all(status in ENDED for status in statuses)
    begin = _LAST if ended else _FIRST
    at, run = begin if page.cursor is None else place_of(page.cursor, float, str)
    asked: dict[str, object] = {"owner": owner, "limit": page.limit + 1, "at": at, "run": run}
    asked |= {f"s{number}": statuses[min(number, len(statuses) - 1)] for number in range(_MOST)}
    found = (_NEWEST_FIRST if ended else _OLDEST_FIRST).rows(connection, asked)
    entries = [_entry(rows.run_decoder.decode(body), title) for body, title in found[: page.limit]]
    last = entries[-1] if len(found) > page.limit else None
    return RunList(runs=tuple(entries), next=cursor_of(last.created_at, last.id) if last is not None else None)


def _entry(run: Run, title: str) -> RunEntry:
    return RunEntry(
        id=run.id,
        conversation_id=run.conversation_id,
        title=title,
        status=run.status,
        created_at=run.created_at,
        since=run.updated_at,
        process=run.process,
        cancel_requested=run.cancel_requested,
        branch=run.branch,
    )
