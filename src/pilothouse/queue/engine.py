"""Runs from the queue on PostgreSQL: a job goes on with a conversation, and every process takes some."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.worker import Worker
from psycopg_pool import AsyncConnectionPool

from pilothouse.queue.manager import AWAY, DELETED, SlotManager
from pilothouse.types import limits
from pilothouse.types.queue import GO_ON, MESSAGES, TASKS, Runner, queue_at

_log = logging.getLogger(__name__)
# Each job and each connection has lines of its own below this; the timeline says what matters of them.
for _name in ("procrastinate", "psycopg.pool"):
    logging.getLogger(_name).setLevel(logging.WARNING)
# Prepares a new connection for use.
SetUp: TypeAlias = Callable[[psycopg.AsyncConnection[Any]], Awaitable[None]]


class Placing(NamedTuple):
    """Where conversations are gone on with."""

    # Returns which other process must do it, of those that have not declined; None for this one.
    other: Callable[[str, Sequence[str]], Awaitable[str | None]]
    # Told when something was done here.
    done: Callable[[], Awaitable[None]]


class Connecting(NamedTuple):
    """How connections for the queue are made."""

    line: str
    set_up: SetUp


# Who waits for a slot, first to last; a conversation at work waits for itself.
_LINE = (
    "SELECT t.lock FROM procrastinate_jobs t WHERE t.status = 'todo' AND NOT EXISTS "
    "(SELECT 1 FROM procrastinate_jobs d WHERE d.lock = t.lock AND d.status = 'doing') "
    "ORDER BY t.priority DESC, t.id"
)


def _pool(**arguments: Any) -> AsyncConnectionPool:
    """Return a pool that does not try each connection first: a broken one is noticed by who uses it, and replaced."""
    return AsyncConnectionPool(**arguments | {"check": None})


class QueueEngine:
    """Takes jobs as there are slots and executes the next run of their conversations; a page's process takes none."""

    def __init__(self, connecting: Connecting, runner: Runner, process: str, placing: Placing, *, takes: bool) -> None:
        self._runner = runner
        self._process = process
        self._placing = placing
        connector = PsycopgConnector(
            conninfo=connecting.line,
            min_size=1,
            max_size=limits.QUEUE_CONNECTIONS,
            timeout=limits.DATABASE_CONNECT,
            configure=connecting.set_up,
            pool_factory=_pool,
        )
        self._app = App(connector=connector)
        self.manager = self._app.job_manager = SlotManager(connector, lambda: runner.slots, process)
        self._app.task(name=GO_ON)(self._go_on)
        self._worker = self._made() if takes else None
        self._working: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._stopping = False

    def _made(self) -> Worker:
        return Worker(
            self._app,
            queues=[MESSAGES.name, TASKS.name, queue_at(self._process)],
            concurrency=limits.JOBS_MOST,
            fetch_job_polling_interval=limits.QUEUE_POLL,
            abort_job_polling_interval=limits.WORKER_QUIET,
            delete_jobs=DELETED,
            install_signal_handlers=False,
            update_heartbeat_interval=limits.LEASE_RENEW,
            stalled_worker_timeout=limits.WORKER_QUIET,
        )

    @property
    def trouble(self) -> str:
        """Return why nothing is taken from the queue, empty while all is well or nothing is to be taken."""
        return self.manager.trouble if self._worker is not None else ""

    async def begin(self, registered: Callable[[], Awaitable[object]]) -> None:
        """Take jobs from now on; `registered` is told when the queue has a name for this process."""
        self.manager.registered = registered
        await self._app.open_async()
        if self._worker is not None:
            self._working = asyncio.create_task(self._work(self._worker), name="queue")
        self._telling = asyncio.create_task(self._tell(), name="queue telling")

    async def _work(self, worker: Worker) -> None:
        while not self._stopping:
            try:
                await worker.run()  # type: ignore[no-untyped-call]
            except Exception:
                _log.exception("the queue's worker ended; it begins again")
                await asyncio.sleep(limits.STORE_RETRY)

    async def _go_on(self, conversation_id: str, declined: Sequence[str] = ()) -> None:
        other = await self._placing.other(conversation_id, declined)
        if other is None:
            await self._runner.go_on(conversation_id)
            await self._placing.done()
        else:
            await self._hand_over(conversation_id, other, (*declined, self._process))

    async def _hand_over(self, conversation_id: str, process: str, declined: Sequence[str]) -> None:
        """Let another process do it; it comes before what is queued in the conversation later."""
        job = self._app.configure_task(GO_ON, queue=queue_at(process), lock=conversation_id, priority=MESSAGES.priority)
        await job.defer_async(conversation_id=conversation_id, declined=[*declined])

    async def start(self, conversation_id: str) -> None:
        """Do nothing: what was queued got its job in the same transaction."""

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(limits.WAITING_TOLD)
            try:
                found = await self._app.connector.execute_query_all_async(_LINE)
            except AWAY as error:
                _log.debug("nobody was told how long they wait: %s", type(error).__name__)
                continue
            if found:
                await self._runner.tell_waiting([row["lock"] for row in found])

    async def stop(self) -> None:
        """Take nothing any more, let what is at work end within the person's time, and let go of the queue."""
        self._stopping = True
        if self._worker is not None:
            self._worker.stop()  # type: ignore[no-untyped-call]
        if self._telling is not None:
            self._telling.cancel()
        await self._runner.drain()
        await self._runner.end()
        if self._working is not None:
            self._working.cancel()
        # A query that is cancelled holds its connection until the database has heard of it.
        if tasks := [task for task in (self._working, self._telling) if task is not None]:
            await asyncio.wait(tasks, timeout=limits.SHUTDOWN_GRACE)
        with contextlib.suppress(*AWAY):
            await self._app.close_async()
