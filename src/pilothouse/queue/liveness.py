"""Who of several processes on one database is alive: each says so, and all look after those who do not.

On a connection of its own: what waits for a lock, or for a pool that others have emptied, must not make a living
process look dead.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
import psycopg

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.processes import ProcessAbout, about_of
from pilothouse.types.records import Records, Settle
from pilothouse.types.runs import Run

_log = logging.getLogger(__name__)
# By the database's clock: those of machines disagree.
_BEAT = (
    "INSERT INTO processes (id, seen_at, about) VALUES (%(id)s, extract(epoch FROM clock_timestamp()), %(about)s) "
    "ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, about = excluded.about"
)
# Also those who hold runs and never said that they live. What is written to try the database is no process.
_OTHERS = (
    "SELECT id, seen_at, about FROM processes WHERE id NOT IN (%(id)s, 'ready') "
    "UNION SELECT DISTINCT process, NULL::float8, NULL FROM runs WHERE status = 'running' "
    "AND process IS NOT NULL AND process <> %(id)s AND process NOT IN (SELECT id FROM processes)"
)


# A process is declared dead only after at least this many looks have seen the same heartbeat.
LOOKS = 3


class Survivors(msgspec.Struct, frozen=True):
    """What is done about the dead: how one is known for certain, what becomes of its runs, and who goes on."""

    is_dead: Callable[[str], bool]
    settling: Callable[[str], Settle]
    # Told of each run that was taken over, whoever executes it.
    taken: Callable[[Run], Awaitable[None]]
    # Whether what is queued and in nobody's hands is looked for, too.
    looks_for_forgotten: bool = False


class Liveness:
    """The signs of life of this process, and its eye on those of others."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[psycopg.AsyncConnection[Any]]],
        records: Records,
        process: str,
        about: Callable[[], ProcessAbout],
        survivors: Survivors,
    ) -> None:
        self._connect = connect
        self._records = records
        self._process = process
        self._about = about
        self._survivors = survivors
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._task: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        # What was seen of others, and for how long it has been the same by our own clock.
        self._signs: dict[str, tuple[float | None, float]] = {}
        self._looked_at = time.monotonic()
        self._forgotten_at = 0.0
        # What the others said of themselves, at the last look.
        self.others: Mapping[str, ProcessAbout] = {}
        # How many runs were taken over from others.
        self.taken_over = 0

    async def begin(self) -> None:
        """Say that this process lives, and look after the others from now on."""
        # Who is certainly dead leaves at once what it held.
        with contextlib.suppress(psycopg.Error, OSError, PilothouseError):
            await self._look(await self.beat())
        self._task = asyncio.create_task(self._keep(), name="liveness")

    async def end(self) -> None:
        """Say that this process has ended."""
        for task in (self._task, self._looking):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error, OSError):
                await self._connection.close()
        with contextlib.suppress(PilothouseError):
            await self._records.forget_process(self._process)

    async def _keep(self) -> None:
        while True:
            try:
                # Bounded: a line that is half open says nothing for as long as the system likes.
                async with asyncio.timeout(limits.LEASE_DEAD):
                    others = await self.beat()
            except (psycopg.Error, OSError, PilothouseError) as error:
                _log.warning("no sign of life could be given: %s", type(error).__name__)
                await self._drop()
            else:
                # In a task of its own: taking over many runs takes a while, and heartbeats must go on.
                if self._looking is None or self._looking.done():
                    self._looking = asyncio.create_task(self._look_after(others), name="looking after others")
            await asyncio.sleep(limits.LEASE_RENEW)

    async def _look_after(self, others: Mapping[str, float | None]) -> None:
        try:
            await self._look(others)
        except (psycopg.Error, OSError, PilothouseError) as error:
            _log.warning("others were not looked after: %s", type(error).__name__)

    async def _drop(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with contextlib.suppress(psycopg.Error, OSError, TimeoutError):
                async with asyncio.timeout(limits.STORE_RETRY):
                    await connection.close()

    async def beat(self) -> Mapping[str, float | None]:
        """Say that this process lives; return the signs of the others."""
        if self._connection is None or self._connection.closed:
            self._connection = await self._connect()
        about = msgspec.json.encode(self._about()).decode()
        await self._connection.execute(_BEAT, {"id": self._process, "about": about})
        found = await self._connection.execute(_OTHERS, {"id": self._process})
        signs = await found.fetchall()
        said = {process: about_of(about) for process, _, about in signs}
        self.others = {process: about for process, about in said.items() if about is not None}
        return {process: seen for process, seen, _ in signs}

    async def _look(self, others: Mapping[str, float | None]) -> None:
        still = self._still(others)
        for process in others:
            if process in still or self._survivors.is_dead(process):
                await self._take_over(process)
        if self._survivors.looks_for_forgotten and time.monotonic() - self._forgotten_at > limits.FORGOTTEN_EVERY:
            self._forgotten_at = time.monotonic()
            await self._records.go_on_with_forgotten()

    async def _take_over(self, process: str) -> None:
        runs: Sequence[Run] = await self._records.take_over(process, self._survivors.settling(process))
        if runs:
            self.taken_over += len(runs)
            _log.warning("process %s said nothing any more: %d of its runs go on elsewhere", process, len(runs))
        for run in runs:
            await self._survivors.taken(run)

    def _still(self, signs: Mapping[str, float | None]) -> set[str]:
        """Return who has shown the same sign for LEASE_DEAD seconds of our own time.

        The signs are times by others' clocks, which jump and disagree; only that they change tells of life. Time
        between two looks counts only up to a share of LEASE_DEAD: if this process was suspended, so were the others.
        """
        now = time.monotonic()
        passed = min(now - self._looked_at, limits.LEASE_DEAD / LOOKS)
        self._looked_at = now
        before = self._signs
        self._signs = {
            key: (sign, before[key][1] + passed if key in before and before[key][0] == sign else 0.0)
            for key, sign in signs.items()
        }
        return {key for key, (_, quiet) in self._signs.items() if quiet >= limits.LEASE_DEAD}
