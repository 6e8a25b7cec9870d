"""Finds runs whose process died, says so in the timeline, and takes them up again where that is wanted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from pilothouse.agent import leftovers
from pilothouse.runs.engine import Engine
from pilothouse.runs.patience import Telling, patiently, store_is_well
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event
from pilothouse.types.items import Item
from pilothouse.types.records import Records
from pilothouse.types.runs import Resume, Run, RunError

_log = logging.getLogger(__name__)

_GIVEN_UP = RunError(
    code="process_died",
    message=f"The program ended {limits.MAX_RECOVERIES} times while it worked on this, so it does not begin again "
    "by itself.",
    fix="Resume it to try once more, or write something else.",
)
# Runs of a one-shot command are not taken up by themselves: whoever started it is gone.
ONE_SHOT = "once_"


class Recovery:
    """The lease of this process, and its eye on the others."""

    def __init__(
        self, records: Records, engine: Engine, process: str, resume: Callable[[], Resume], feed: Telling
    ) -> None:
        self._records = records
        self._feed = feed
        self._engine = engine
        self._process = process
        self._resume = resume
        self._task: asyncio.Task[None] | None = None
        # What was seen of others and their runs, and since when it has been the same.
        self._signs: dict[str, tuple[float | None, float]] = {}

    async def begin(self, *, alone: bool, take_over: bool) -> None:
        """Take the lease and look for what was left; `alone` means that no other process can be alive."""
        try:
            await self._begin(alone, take_over)
        except PilothouseError as error:
            if error.code != "disk_full":
                raise
            # Whoever only wants to read can; what was left is looked for as soon as there is room.
            self._task = asyncio.create_task(self._begin_later(alone, take_over), name="recovery")
        else:
            self._task = asyncio.create_task(self._keep(alone, take_over), name="recovery")

    async def _begin(self, alone: bool, take_over: bool) -> None:
        await self._records.beat(self._process)
        await self._look(alone, take_over)

    async def _begin_later(self, alone: bool, take_over: bool) -> None:
        await patiently(self._feed, lambda: self._begin(alone, take_over))
        store_is_well(self._feed)
        await self._keep(alone, take_over)

    async def end(self) -> None:
        """Give the lease back."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        with contextlib.suppress(PilothouseError):
            await self._records.forget_process(self._process)

    async def _keep(self, alone: bool, take_over: bool) -> None:
        while True:
            await asyncio.sleep(limits.LEASE_DEAD if alone else limits.LEASE_RENEW)
            try:
                if not alone:
                    await self._records.beat(self._process)
                await self._look(False, take_over)
            except PilothouseError as error:
                _log.warning("the lease was not renewed: %s", error.message)

    async def _look(self, alone: bool, take_over: bool) -> None:
        holders = await self._records.holders()
        holders.pop(self._process, None)
        queued = await self._records.runs_in(("queued",)) if take_over else []
        still = self._still({**holders, **{run.id: run.updated_at for run in queued}})
        dead = {process for process in holders if alone or process in still}
        if dead:
            for run in await self._records.runs_in(("running",)):
                if run.process in dead:
                    await self._take(run, take_over)
        # What was accepted and never begun: its process died in between, or never learned that it was accepted.
        for conversation_id in dict.fromkeys(run.conversation_id for run in queued if alone or run.id in still):
            await self._engine.start(conversation_id)

    def _still(self, signs: Mapping[str, float | None]) -> set[str]:
        """Return what has shown the same sign for LEASE_DEAD seconds of our own time.

        The signs are times by others' clocks, which jump and disagree; only that they change tells of life.
        """
        now = time.monotonic()
        before = self._signs
        self._signs = {
            key: before[key] if key in before and before[key][0] == sign else (sign, now) for key, sign in signs.items()
        }
        return {key for key, (_, since) in self._signs.items() if now - since >= limits.LEASE_DEAD}

    async def _take(self, run: Run, take_over: bool) -> None:
        holder = run.process
        wanted = take_over and self._resume() == "auto" and not str(holder).startswith(ONE_SHOT)
        taken = await self._records.settle_run(run.id, lambda now, left: _taken(now, left, holder, wanted))
        if taken is not None and taken.status == "queued":
            await self._engine.start(taken.conversation_id)


def _taken(run: Run, left: Sequence[Item], holder: str | None, wanted: bool) -> tuple[Run, list[Event]] | None:
    """Return the run without its dead process: queued again at once, so that no later message comes in between."""
    if run.status != "running" or run.process != holder:
        return None
    deaths = run.recoveries + wanted
    again = wanted and deaths < limits.MAX_RECOVERIES
    taken = msgspec.structs.replace(
        run,
        status="queued" if again else "interrupted",
        process=None,
        # The epoch grows: whoever still writes for the old process is refused from here on.
        epoch=run.epoch + 1,
        recoveries=deaths,
        error=_GIVEN_UP if wanted and not again else None,
    )
    # What is not taken up again holds nobody up: nothing of it stays open while the conversation goes on.
    return taken, leftovers.given_up(left) if taken.is_given_up else leftovers.interrupted(left)
