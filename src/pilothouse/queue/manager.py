"""procrastinate's jobs, taken as there are slots, by a worker that a database which is away does not end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import psycopg
from procrastinate import exceptions
from procrastinate.jobs import DeleteJobCondition, Job, Notification, Status
from procrastinate.manager import JobManager, NotificationCallback

from pilothouse.types import limits
from pilothouse.types.queue import MESSAGES, TASKS, queue_at

_log = logging.getLogger(__name__)
# The worker asks as if someone had told it of a job.
_LOOK: Notification = {"type": "job_inserted", "job_id": 0}
# Taken by this worker, and it does not know: the answer to its question was lost.
_UNKNOWN = (
    "UPDATE procrastinate_jobs SET status = 'todo', worker_id = NULL WHERE status = 'doing' "
    "AND worker_id = %(worker_id)s AND id <> ALL(%(taken)s)"
)
AWAY = (exceptions.ConnectorException, psycopg.Error, OSError)


class SlotManager(JobManager):
    """Takes jobs while there are slots, the last of them for messages only; waits for a database that is away."""

    def __init__(self, connector: Any, slots: Callable[[], int], process: str) -> None:
        super().__init__(connector)
        self._slots = slots
        self._own = queue_at(process)
        # Jobs that were taken and are not finished, by their number.
        self.taken: set[int] = set()
        self._look: NotificationCallback | None = None
        self.worker_id: int | None = None
        # Told when the queue has a name for this process.
        self.registered: Callable[[], Awaitable[object]] = _nobody
        # Whether a job may have been taken of which nothing is known here, and since when.
        self._unsure: float | None = None
        # Why nothing is taken from the queue, in a few words; empty while it is.
        self.trouble = "it has not begun yet"
        # What was last written to the log about it.
        self._told = ""

    @property
    def at_work(self) -> int:
        """Return how many slots are in use."""
        return len(self.taken)

    async def register_worker(self) -> int:
        """Get a name in the queue, and say so before anything is taken."""
        self.worker_id = await super().register_worker()
        # Before it takes anything: whoever takes over from this process must know what the queue calls it.
        await self.registered()
        return self.worker_id

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """Take a job if there is a slot for it."""
        free = self._slots() - self.at_work
        if free <= 0:
            return None
        # The last slot is kept for messages: a person does not wait until a task has ended. Whoever has but one slot
        # takes both.
        tasks = [] if free == 1 < self._slots() else [TASKS.name]
        wanted = [self._own, MESSAGES.name, *tasks]
        try:
            # Not the number that the worker knows: a process that was paused is registered anew.
            await self._give_back(self.worker_id or worker_id)
            job = await super().fetch_job(wanted, self.worker_id or worker_id)
        except AWAY as error:
            self._unsure = time.monotonic()
            await self._away("nothing was taken from the queue", error)
            return None
        self.trouble = self._told = ""
        if job is not None and job.id is not None:
            self.taken.add(job.id)
        return job

    async def _give_back(self, worker_id: int) -> None:
        """Give back what was taken when the connection broke: its conversation would wait for as long as we live."""
        if self._unsure is None:
            return
        await self.connector.execute_query_async(_UNKNOWN, worker_id=worker_id, taken=list(self.taken))
        # For a while: the database may still be at work on what it was asked on the connection that broke.
        if time.monotonic() - self._unsure > limits.DATABASE_STATEMENT:
            self._unsure = None

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """Mark a job as done, however long the database is away, and look for the next."""
        while True:
            try:
                await super().finish_job(job, status, delete_job)
            except AWAY as error:
                if _is_gone(error):
                    # This process was taken for dead, and its jobs with it.
                    _log.info("job %s was taken over meanwhile", job.id)
                    break
                await self._away(f"job {job.id} is not marked as done yet", error)
            else:
                break
        if job.id is not None:
            self.taken.discard(job.id)
        # A slot is free, and perhaps the next job of the same conversation.
        await self.look()

    async def look(self) -> None:
        """Have the worker look for jobs now."""
        if self._look is not None:
            await self._look(channel="", notification=_LOOK)

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        """Hear of new jobs, again and again if the connection breaks."""
        self._look = on_notification
        while True:
            try:
                await super().listen_for_jobs(on_notification=on_notification, queues=queues)
            except AWAY as error:
                await self._away("nobody tells of jobs; they are looked for instead", error)

    async def update_heartbeat(self, worker_id: int) -> None:
        """Tell the queue that this worker lives; one that was forgotten gets a new name."""
        # Here and not where the worker begins: it may have been paused for so long that it was removed.
        try:
            if self.worker_id is not None and not await self._is_registered(self.worker_id):
                await self.register_worker()
            else:
                await super().update_heartbeat(self.worker_id or worker_id)
            # Also where no slot is free, and nothing is taken for that.
            self.trouble = ""
        except AWAY as error:
            await self._away("the queue was not told that this worker lives", error)

    async def unregister_worker(self, worker_id: int) -> None:
        """Give the name in the queue back, if the database answers."""
        try:
            await super().unregister_worker(self.worker_id or worker_id)
        except AWAY as error:
            _log.info("the queue was not told that this worker ended: %s", type(error).__name__)

    async def list_jobs_to_abort_async(self, queue: str | None = None) -> Iterable[int]:
        """Return none: runs are stopped in their timeline."""
        return []

    async def _is_registered(self, worker_id: int) -> bool:
        found = await self.connector.execute_query_all_async(
            "SELECT 1 FROM procrastinate_workers WHERE id = %(worker_id)s", worker_id=worker_id
        )
        return bool(found)

    async def _away(self, what: str, error: BaseException) -> None:
        reason = _reason(error)
        if reason != self._told:
            # Once for each reason: it is tried again every second.
            _log.warning("%s: %s", what, reason)
            self._told = reason
        self.trouble = "the database does not answer"
        await asyncio.sleep(limits.STORE_RETRY)


def _reason(error: BaseException) -> str:
    """Return the database's own first line, without addresses."""
    cause = error.__cause__ or error
    state = getattr(cause, "sqlstate", None)
    said = getattr(getattr(cause, "diag", None), "message_primary", None)
    return f"{said} ({state})" if said and state else f"the database does not answer ({type(cause).__name__})"


async def _nobody() -> None:
    return None


def _is_gone(error: BaseException) -> bool:
    cause = error.__cause__ or error
    return isinstance(cause, psycopg.errors.RaiseException)


DELETED = DeleteJobCondition.ALWAYS
