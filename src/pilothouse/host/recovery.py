"""Finds runs whose process died, says so in the timeline, and takes them up again where that is wanted."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
from collections.abc import Callable, Sequence
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
from pilothouse.types.records import Records, Settle
from pilothouse.types.runs import Run, RunError
from pilothouse.types.settings import Settings

_log = logging.getLogger(__name__)

_GIVEN_UP = RunError(
    code="process_died",
    message=f"The program ended {limits.MAX_RECOVERIES} times while it worked on this, so it does not begin again "
    "by itself.",
    fix="Resume it to try once more, or write something else.",
)
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


def settling(holder: str, settings: Callable[[], Settings]) -> Settle:
    """Return what becomes of the runs of a process that died: they go on by themselves, or wait for the person."""
    # Runs of a one-shot command are not taken up by themselves: whoever started it is gone.
    wanted = settings().resume_after_restart == "auto" and not holder.startswith(_ONE_SHOT)
    return lambda now, left: _taken(now, left, holder, wanted)


class Recovery:
    """Takes up what the processes before this one left in a folder that this one has alone."""

    def __init__(
        self, records: Records, engine: Engine, process: str, settings: Callable[[], Settings], feed: Feed
    ) -> None:
        self._records = records
        self._feed = feed
        self._engine = engine
        self._process = process
        self._settings = settings
        self._task: asyncio.Task[None] | None = None

    async def begin(self, *, take_over: bool) -> None:
        """Look for what was left; a command that minds its own run begins nothing of it."""
        try:
            await self._settle(take_over)
        except PilothouseError as error:
            if error.code != "disk_full":
                raise
            # Whoever only wants to read can; what was left is looked for as soon as there is room.
            self._task = asyncio.create_task(self._begin_later(take_over), name="recovery")
        else:
            self._task = asyncio.create_task(self._keep(take_over), name="recovery")

    async def _begin_later(self, take_over: bool) -> None:
        await patiently(self._feed, lambda: self._settle(take_over))
        store_is_well(self._feed)
        await self._keep(take_over)

    async def end(self) -> None:
        """Look no longer."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        with contextlib.suppress(PilothouseError):
            await self._records.forget_process(self._process)

    async def _settle(self, take_over: bool) -> None:
        # A small write first: on a full disk nothing can be taken up, and people are told.
        await self._records.beat(self._process)
        # No other process can be alive.
        for process in {run.process for run in await self._records.runs_in(("running",))} - {self._process, None}:
            if process is not None:
                for run in await self._records.take_over(process, settling(process, self._settings)):
                    # Whoever waits here, for it or for what is queued behind it, waits for nobody else.
                    if take_over or self._feed.is_read(run.conversation_id):
                        await self._engine.start(run.conversation_id)
        if take_over:
            await self._start(await self._records.runs_in(("queued",)))

    async def _start(self, queued: Sequence[Run]) -> None:
        for conversation_id in dict.fromkeys(run.conversation_id for run in queued):
            await self._engine.start(conversation_id)

    async def _keep(self, take_over: bool) -> None:
        """Begin what was accepted and never begun: whoever wrote it may not have learned that it was kept."""
        before: set[str] = set()
        while take_over:
            await asyncio.sleep(limits.LEASE_DEAD)
            try:
                queued = await self._records.runs_in(("queued",))
            except PilothouseError as error:
                _log.warning("what waits was not looked for: %s", error.message)
                continue
            await self._start([run for run in queued if run.id in before])
            before = {run.id for run in queued}


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
