"""Who executes a run: this process, as a task. The run's state is the timeline, so any process can go on with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from pilothouse.host import titles
from pilothouse.host.active_run import ActiveRun, Parts
from pilothouse.timeline.feed import live_note
from pilothouse.timeline.store_outages import patiently, wait_for_store
from pilothouse.types import limits
from pilothouse.types.errors import PASSING, PilothouseError
from pilothouse.types.item_data import MessageData, Slot
from pilothouse.types.items import patch
from pilothouse.types.ports import OpenModel
from pilothouse.types.runs import Run, working_on
from pilothouse.types.settings import Settings

_log = logging.getLogger(__name__)


class Engine(Protocol):
    """Executes runs. What it must do is in the timeline; an engine only decides who does it and when."""

    async def start(self, conversation_id: str) -> None:
        """Execute what is queued in a conversation, one after the other and in order, as soon as it is free."""
        ...

    async def stop(self) -> None:
        """Let what runs end within the time that the person set, give the rest back, and return when nothing runs."""
        ...


Begun = Callable[[Run], Awaitable[None]]


class Ended(NamedTuple):
    """A run that was executed here, and the model that answered."""

    run: Run
    opened: OpenModel | None


class Executor:
    """Claims runs and drives them, one per conversation."""

    def __init__(self, parts: Parts, process: str, *, titles: bool = True) -> None:
        self._parts = parts
        self.process = process
        # Whether a model is asked for titles: a process that ends with its answer would cut the request off.
        self._titles = titles
        # By claim, which is a run and its epoch: a run may be claimed anew while the last of it is being put away.
        self._active: dict[tuple[str, int], ActiveRun] = {}
        # How many runs are at work here or just being claimed, and whether none is.
        self._busy = 0
        self.idle = asyncio.Event()
        self.idle.set()
        self._stopping = False

    @property
    def at_work(self) -> int:
        """Return how many runs are at work here."""
        return len(self._active)

    async def execute(self, conversation_id: str, begun: Begun | None = None) -> Ended | None:
        """Execute the next run of a conversation if it can be claimed, tell that it began, and return how it ended."""
        if self._closing():
            return None
        self._busy += 1
        self.idle.clear()
        try:
            return await self._execute(conversation_id, begun)
        finally:
            self._busy -= 1
            if not self._busy:
                self.idle.set()

    async def _execute(self, conversation_id: str, begun: Begun | None) -> Ended | None:
        claimed = await self._claim(conversation_id)
        if claimed is None or (claim := (claimed.id, claimed.epoch)) in self._active:
            return None
        active = self._active[claim] = ActiveRun(self._parts, claimed)
        if self._closing():
            active.stop("shutdown")
        try:
            with working_on(claimed.conversation_id, claimed.id):
                if begun is not None:
                    await begun(claimed)
                run = await active.drive()
        finally:
            del self._active[claim]
        return Ended(run, active.opened) if run is not None else None

    async def _claim(self, conversation_id: str) -> Run | None:
        records = self._parts.records
        try:
            return await records.claim_next(conversation_id, self.process)
        except PilothouseError as error:
            if error.code not in PASSING:
                raise
            await wait_for_store(self._parts.feed, error)
        # The first try may have been kept although its answer was lost.
        return await patiently(
            self._parts.feed, lambda: records.claim_next(conversation_id, self.process, perhaps_held=True)
        )

    async def title(self, ended: Ended) -> None:
        """Give the conversation a better title after its first exchange."""
        run, opened = ended
        if not self._titles or opened is None or run.status != "completed" or run.options.replay_of or self._closing():
            return
        try:
            conversation = await self._parts.records.conversation(run.owner, run.conversation_id)
            await titles.improve(self._parts.records, conversation, opened, self._parts.purse(run.owner))
        except PilothouseError as error:
            # The conversation keeps the title it has.
            _log.info("no title for %s: %s", run.conversation_id, error.message)

    async def tell_waiting(self, line: Sequence[str]) -> None:
        """Tell readers of the conversations in a line how many are executed before; who has nothing left is not one."""
        records, feed = self._parts.records, self._parts.feed
        if not any(map(feed.is_read, line)):
            return
        try:
            queued = await records.runs_in(("queued",))
        except PilothouseError as error:
            _log.debug("nobody was told how long they wait: %s", error.message)
            return
        first = {run.conversation_id: run for run in reversed(queued)}
        for before, run in enumerate(first[conversation_id] for conversation_id in line if conversation_id in first):
            if feed.is_read(run.conversation_id):
                note = live_note(run.message_item_id, patch(MessageData, slot=Slot(run_id=run.id, before=before)))
                feed.live(run.conversation_id, note)

    def _closing(self) -> bool:
        return self._stopping

    async def drain(self, seconds: float) -> None:
        """Begin nothing any more, and give what is at work so long to end."""
        self._stopping = True
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.idle.wait()

    def interrupt(self) -> None:
        """Stop all runs because the program ends."""
        for active in self._active.values():
            active.stop("shutdown")


class Runner:
    """Executes what is next in conversations, gives them titles afterwards, and ends all of it with the program."""

    def __init__(
        self, executor: Executor, settings: Callable[[], Settings] = Settings, slots: int | None = None
    ) -> None:
        self._executor = executor
        self._settings = settings
        # What this process was started with, in the place of the setting.
        self._own_slots = slots
        self._titling = asyncio.Semaphore(limits.TITLES_AT_ONCE)
        self.tasks = TaskSet()
        self.tell_waiting = executor.tell_waiting

    @property
    def slots(self) -> int:
        """Return how many conversations may be at work at once; asked each time, since a person may change it."""
        return self._own_slots or self._settings().runs_at_once

    @property
    def at_work(self) -> int:
        """Return how many runs are at work here."""
        return self._executor.at_work

    async def go_on(self, conversation_id: str, begun: Begun | None = None) -> bool:
        """Execute the next run of a conversation, if one can be claimed; return whether one was."""
        try:
            ended = await self._executor.execute(conversation_id, begun)
        except PilothouseError as error:
            _log.error("a run of %s could not be executed: %s", conversation_id, error)
            return False
        except Exception:
            _log.exception("a run of %s could not be executed", conversation_id)
            return False
        if ended is not None:
            self.tasks.begin(self._title(ended), f"title {conversation_id}")
        return ended is not None

    async def _title(self, ended: Ended) -> None:
        try:
            async with self._titling:
                await self._executor.title(ended)
        except Exception:
            _log.exception("no title for %s", ended.run.conversation_id)

    async def drain(self) -> None:
        """Give what is at work the time that the person set, then stop it."""
        await self._executor.drain(self._settings().drain_seconds)
        self._executor.interrupt()

    async def end(self) -> None:
        """Wait a while for what was stopped; leave behind what does not end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limits.SHUTDOWN_GRACE):
                await self._executor.idle.wait()
                await self.tasks.wait()
        await self.tasks.end()


class TaskSet:
    """Tasks that nobody waits for, until the program ends."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        """Begin a task."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self) -> None:
        """Wait until all have ended."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def end(self) -> None:
        """Cancel all and wait for them."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


class DirectEngine:
    """Executes runs as tasks of this process."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._slots = Slots(lambda: runner.slots, self._begin)
        self._telling: asyncio.Task[None] | None = None

    async def start(self, conversation_id: str) -> None:
        """Execute what is queued in a conversation, in order, as soon as it is free and there is a slot."""
        if not self._slots.ask(conversation_id) and (self._telling is None or self._telling.done()):
            self._telling = self._runner.tasks.begin(self._tell(), "engine telling")

    def _begin(self, conversation_id: str) -> None:
        self._runner.tasks.begin(self._execute(conversation_id), f"engine {conversation_id}")

    async def _tell(self) -> None:
        """Tell those who look at a conversation that waits how many come before it, for as long as any waits."""
        while line := self._slots.waiting():
            await self._runner.tell_waiting(line)
            await asyncio.sleep(limits.WAITING_TOLD)

    async def _execute(self, conversation_id: str) -> None:
        try:
            executed = await self._runner.go_on(conversation_id, self._begun)
        finally:
            self._slots.free()
        if executed:
            await self.start(conversation_id)

    async def _begun(self, run: Run) -> None:
        """Begin the others of a comparison, too: they are at work side by side."""
        if run.options.beside is not None:
            await self.start(run.conversation_id)

    async def stop(self) -> None:
        self._slots.close()
        await self._runner.drain()
        # What ended meanwhile has asked for more.
        self._slots.close()
        if self._telling is not None:
            self._telling.cancel()
        await self._runner.end()


class Slots:
    """As many conversations at work as may be, and the others in line; one that has more to do goes to its end."""

    def __init__(self, most: Callable[[], int], begin: Callable[[str], None]) -> None:
        self._most = most
        self._begin = begin
        self._working = 0
        self._line: dict[str, None] = {}

    def ask(self, conversation_id: str) -> bool:
        """Begin with a conversation as soon as there is a slot; return whether there was one now."""
        self._line.setdefault(conversation_id)
        self._fill()
        return conversation_id not in self._line

    def free(self) -> None:
        """Let the next one in."""
        self._working -= 1
        self._fill()

    def waiting(self) -> list[str]:
        """Return who is in line, also one that has nothing left to do and does not know it yet."""
        return list(self._line)

    def close(self) -> None:
        """Begin with nobody any more."""
        self._line.clear()

    def _fill(self) -> None:
        # Asked each time: a person may set another number meanwhile.
        while self._line and self._working < self._most():
            first = next(iter(self._line))
            del self._line[first]
            self._working += 1
            self._begin(first)
