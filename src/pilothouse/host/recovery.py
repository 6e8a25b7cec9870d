"""Finds runs whose process died, says so in the timeline, and takes them up again where that is wanted."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from pilothouse.agent import closing
from pilothouse.host.engine import Engine
from pilothouse.timeline.feed import Feed
from pilothouse.timeline.store_outages import patiently, store_is_well
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event
from pilothouse.types.items import Item
from pilothouse.types.records import Records
from pilothouse.types.runs import Run, RunError
from pilothouse.types.settings import Settings

_log = logging.getLogger(__name__)

_GIVEN_UP = RunError(
    code="process_died",
    message=f"The program ended {limits.MAX_RECOVERIES} times while it worked on this, so it does not begin again "
    "by itself.",
    fix="Resume it to try once more, or write something else.",
)
# Runs of a one-shot command are not taken up by themselves: whoever started it is gone.
_ONE_SHOT = "once_"


def process_name(name: str, *, one_shot: bool) -> str:
    """Return what this process is called in what it claims, with what proves to others here whether it lives."""
    pid = os.getpid()
    machine, since = _machine(), _since(pid)
    return f"{_ONE_SHOT if one_shot else ''}{name}{f'@{machine}.{pid}.{since}' if machine and since else ''}"


def is_dead(process: str) -> bool:
    """Return whether a process has certainly ended; of one on another machine nobody here can say."""
    machine, _, rest = process.partition("@")[2].partition(".")
    pid, _, since = rest.partition(".")
    if not machine or machine != _machine():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        # It is someone else's, and may be another one by now.
        return False
    return _since(int(pid)) != since


def _machine() -> str:
    """Return a name for this machine since it was started, and for who counts processes on it; empty if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        return hashlib.sha256(f"{boot} {os.readlink('/proc/self/ns/pid')}".encode()).hexdigest()[:12]
    except OSError:
        return ""


def _since(pid: int) -> str:
    """Return when a process began, in ticks of this machine; empty for one that has ended or is not known."""
    try:
        facts = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    # The state stands behind the name, which may hold anything. Who was ended and not yet buried is dead.
    state, *more = facts.rpartition(b") ")[2].split()
    return "" if state in (b"Z", b"X") else more[18].decode()


class Recovery:
    """The lease of this process, and its eye on the others."""

    def __init__(
        self, records: Records, engine: Engine, process: str, settings: Callable[[], Settings], feed: Feed
    ) -> None:
        self._records = records
        self._feed = feed
        self._engine = engine
        self._process = process
        self._settings = settings
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
        dead = {process for process in holders if alone or process in still or is_dead(process)}
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
        # Also a command that takes nothing up puts it back into the queue: a server goes on with what it finds there.
        wanted = self._settings().resume_after_restart == "auto" and not str(holder).startswith(_ONE_SHOT)
        taken = await self._records.settle_run(run.id, lambda now, left: _taken(now, left, holder, wanted))
        # Whoever waits here, for it or for what is queued behind it, waits for nobody else.
        if taken is not None and (take_over or self._feed.is_read(taken.conversation_id)):
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
    return taken, closing.given_up(left) if taken.is_given_up else closing.interrupted(left)
