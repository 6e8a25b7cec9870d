"""Jobs for the queue on PostgreSQL, made in the transaction that gives them something to do.

A job says "go on with this conversation" and nothing else: which run is next is found out when it is claimed. Its lock
is the conversation, so that one is at work at a time and in order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from pilothouse.store import rows
from pilothouse.store.statements import Connection, Statement
from pilothouse.types.json import encode
from pilothouse.types.queue import AT, GO_ON, MESSAGES, queue_at, queue_of
from pilothouse.types.runs import Run

# The run that was queued first, of each of these conversations that has no job waiting already. Whoever takes that one
# cannot claim before this transaction ends: it holds the conversation.
_FIRST = Statement(
    "SELECT DISTINCT ON (r.conversation_id) r.body FROM runs r WHERE r.conversation_id = ANY(:ids) "
    "AND r.status = 'queued' AND NOT EXISTS "
    "(SELECT 1 FROM procrastinate_jobs j WHERE j.lock = r.conversation_id AND j.status = 'todo') "
    "ORDER BY r.conversation_id, r.created_at, r.id"
)
_QUEUED = Statement("SELECT body FROM runs WHERE conversation_id = :id AND status = 'queued'")
_DEFER = Statement(
    "SELECT procrastinate_defer_jobs_v1(array_agg(CAST(ROW(j.queue, :task, j.priority, j.lock, NULL, "
    "CAST(j.args AS jsonb), NULL) AS procrastinate_job_to_defer_v1))) "
    "FROM unnest(CAST(:queues AS text[]), CAST(:priorities AS int[]), CAST(:locks AS text[]), CAST(:args AS text[])) "
    "AS j(queue, priority, lock, args)"
)
# Of conversations in which nothing is at work and nothing waits for a person: what was queued for a while and has no
# job, because a process of an earlier release queued it, or a job got lost.
_FORGOTTEN = Statement(
    "SELECT DISTINCT r.conversation_id FROM runs r WHERE r.status = 'queued' AND r.created_at < :before AND NOT EXISTS "
    "(SELECT 1 FROM procrastinate_jobs j WHERE j.lock = r.conversation_id AND j.status IN ('todo', 'doing')) "
    "AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.conversation_id = r.conversation_id AND o.branch = r.branch "
    "AND o.status IN ('running', 'waiting', 'interrupted')) LIMIT 500"
)
# Also by the conversations whose runs it held: a process of an earlier release had no name in the queue.
_LEFT_BEHIND = Statement(
    "DELETE FROM procrastinate_jobs WHERE status = 'doing' AND (worker_id = :worker OR lock = ANY(:locks)) "
    "RETURNING lock"
)
_NOBODYS = Statement(
    "DELETE FROM procrastinate_jobs WHERE status = 'doing' AND (worker_id IS NULL OR worker_id IN "
    "(SELECT id FROM procrastinate_workers WHERE last_heartbeat < now() - make_interval(secs => :seconds)))"
)


# What only one process could do, and that one is gone.
_RELEASE = Statement(
    "UPDATE procrastinate_jobs SET queue_name = :queue, args = args - 'declined' WHERE status = 'todo' "
    "AND queue_name LIKE :placed AND queue_name <> ALL(CAST(:alive AS text[]))"
)
_ALIVE = Statement("SELECT id FROM processes")


def defer(connection: Connection, conversations: Collection[str]) -> None:
    """Have someone go on with these conversations, those of them where something is queued."""
    found = _FIRST.column(connection, {"ids": sorted(conversations)})
    _put(connection, [(run, run.conversation_id) for run in _runs(found)])


def defer_beside(connection: Connection, begun: Iterable[Run]) -> None:
    """Have the others of a comparison begin: each has a lock of its own, since they are at work side by side."""
    for run in begun:
        queued = _runs(_QUEUED.column(connection, {"id": run.conversation_id}))
        others = [other for other in queued if other.options.beside == run.options.beside]
        _put(connection, [(other, f"{other.conversation_id}/{other.id}") for other in others])


def defer_forgotten(connection: Connection, before: float) -> None:
    """Have someone go on with what was queued before a time and has no job."""
    if forgotten := _FORGOTTEN.column(connection, {"before": before}):
        defer(connection, forgotten)


def drop_of(connection: Connection, worker: int | None, held: Sequence[Run]) -> None:
    """Remove the jobs that a worker had taken, and those of runs it held: it is dead, and they get new ones."""
    locks = [lock for run in held for lock in (run.conversation_id, f"{run.conversation_id}/{run.id}")]
    dropped = _LEFT_BEHIND.column(connection, {"worker": worker, "locks": locks})
    # Those that it had taken and not begun. The others have theirs when their runs are queued again.
    begun = {run.conversation_id for run in held}
    if taken := {lock.partition("/")[0] for lock in dropped} - begun:
        defer(connection, taken)


def drop_nobodys(connection: Connection, seconds: float) -> None:
    """Remove the jobs of workers that are gone, or said nothing for so long."""
    _NOBODYS.run(connection, {"seconds": seconds})


def release_placed(connection: Connection) -> None:
    """Let any process take what waits for one that is gone."""
    alive = [queue_at(process) for process in _ALIVE.column(connection, {})]
    _RELEASE.run(connection, {"queue": MESSAGES.name, "placed": f"{AT}%", "alive": alive})


def _runs(bodies: Sequence[bytes]) -> list[Run]:
    return [rows.run_decoder.decode(body) for body in bodies]


def _put(connection: Connection, jobs: Sequence[tuple[Run, str]]) -> None:
    if not jobs:
        return
    queues = [queue_of(run.options) for run, _ in jobs]
    _DEFER.run(
        connection,
        {
            "task": GO_ON,
            "queues": [queue.name for queue in queues],
            "priorities": [queue.priority for queue in queues],
            "locks": [lock for _, lock in jobs],
            "args": [encode({"conversation_id": run.conversation_id}).decode() for run, _ in jobs],
        },
    )
