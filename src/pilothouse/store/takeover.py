"""What a process leaves behind when it dies: settled in one transaction, so that all of it goes on at once."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pilothouse.store import changes, rows
from pilothouse.store.statements import Connection, Statement
from pilothouse.store.writer import Transaction
from pilothouse.types import limits
from pilothouse.types.processes import ProcessAbout, ProcessView, about_of
from pilothouse.types.records import Settle
from pilothouse.types.runs import Run

_TURN = Statement("SELECT pg_try_advisory_xact_lock(hashtextextended(:process, 0))")
_HELD = Statement("SELECT body FROM runs WHERE status = 'running' AND process = :process")
_ABOUT = Statement("SELECT about FROM processes WHERE id = :process")
# A process that stands still in the middle of a transaction keeps what that has locked: between two statements that are
# sent together no limit of the database's own ends it. Those of another user cannot be ended.
_END = Statement(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = :name AND usename = current_user "
    "AND pid <> pg_backend_pid()"
)
_FORGET = Statement("DELETE FROM processes WHERE id = :process")
# How long ago each was seen, by the clock that says when it was: the database's, where there is one elsewhere.
_UNSAID = (
    "UNION SELECT DISTINCT process, CAST(NULL AS double precision), NULL FROM runs "
    "WHERE status = 'running' AND process IS NOT NULL AND process NOT IN (SELECT id FROM processes)"
)
_PROCESSES = Statement(
    f"SELECT id, :now - seen_at, about FROM processes {_UNSAID}",  # noqa: S608 - of our own words
    f"SELECT id, extract(epoch FROM clock_timestamp()) - seen_at, about FROM processes {_UNSAID}",  # noqa: S608
)


def take_over(tx: Transaction, process: str, rule: Settle) -> list[Run]:
    """Settle all runs that a process held, and forget it; others that would do the same find nothing to do."""
    shared = tx.connection.dialect.name != "sqlite"
    if shared and not _TURN.first(tx.connection, {"process": process}):
        return []
    about = _ended(tx.connection, process) if shared else None
    held = [rows.run_decoder.decode(body) for body in _HELD.column(tx.connection, {"process": process})]
    if shared:
        tx.hold_all({run.conversation_id for run in held})
        _drop_jobs(tx.connection, about, held)
    taken = [changes.settle_run(tx, run.id, rule) for run in sorted(held, key=lambda run: (run.created_at, run.id))]
    _FORGET.run(tx.connection, {"process": process})
    if shared:
        _release(tx.connection)
    return [run for run in taken if run is not None]


def _ended(connection: Connection, process: str) -> ProcessAbout | None:
    """End what a process has open here, and return what it said of itself."""
    about = about_of(_ABOUT.first(connection, {"process": process}))
    if about is not None and about.connections:
        _END.rows(connection, {"name": about.connections})
    return about


def _drop_jobs(connection: Connection, about: ProcessAbout | None, held: Sequence[Run]) -> None:
    from pilothouse.store import jobs

    jobs.drop_of(connection, about.worker if about is not None else None, held)


def _release(connection: Connection) -> None:
    from pilothouse.store import jobs

    jobs.release_placed(connection)


def processes(connection: Connection) -> Sequence[ProcessView]:
    """Return the processes that say that they live, and those that hold runs without having said so."""
    now = time.time()
    return [
        ProcessView(id=key, seen_at=now - float(age) if age is not None else 0.0, about=about_of(about))
        for key, age, about in _PROCESSES.rows(connection, {"now": now})
    ]


def seen_lately(connection: Connection) -> list[str]:
    """Return the processes that gave a sign of life a moment ago."""
    return [one.id for one in processes(connection) if one.seen_at > time.time() - limits.SHARED_QUIET]


def go_on_with_forgotten(connection: Connection) -> None:
    """Make jobs for what is queued and has none, and remove jobs of workers that are gone."""
    from pilothouse.store import jobs

    jobs.drop_nobodys(connection, limits.WORKER_QUIET)
    jobs.release_placed(connection)
    jobs.defer_forgotten(connection, time.time() - limits.LEASE_DEAD)
