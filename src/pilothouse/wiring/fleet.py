"""A process among others on one PostgreSQL: the queue it takes runs from, and its signs of life."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from importlib.metadata import version
from socket import gethostname
from typing import Any, NamedTuple

import psycopg

from pilothouse.host.active_run import Parts
from pilothouse.host.engine import DirectEngine, Runner
from pilothouse.host.recovery import is_dead, settling
from pilothouse.queue.engine import Connecting, Placing, QueueEngine
from pilothouse.queue.liveness import Liveness, Survivors
from pilothouse.store import postgres
from pilothouse.store.connections import Connections
from pilothouse.types import limits
from pilothouse.types.processes import ProcessAbout, ProcessRole
from pilothouse.types.runs import Run

# Whether a process executes what others queue, by its role; the others execute what they queue themselves.
TAKES = {"server": True, "worker": True, "web": False}


class Here(NamedTuple):
    """What can be done only in this process, or not at all."""

    # The conversations whose terminals and background commands run here.
    terminals: Callable[[], Sequence[str]]
    # The folder that a conversation works in.
    folder_of: Callable[[str], Awaitable[str | None]]
    # Whether a conversation may need programs: commands in its folder, or local servers.
    needs_programs: Callable[[str], Awaitable[bool]]
    # Whether programs are started here.
    programs: bool


class Fleet:
    """The engine of a process on a shared database, and how the others know of it."""

    def __init__(
        self, url: str, connections: Connections, runner: Runner, process: str, role: ProcessRole, here: Here
    ) -> None:
        self._here = here
        self._line = postgres.line_to(url, connections.name)
        self._connections = connections
        self._runner = runner
        # What the others were told last of the terminals here.
        self._told: Sequence[str] = ()
        self._process = process
        self._role = role
        self._began = time.time()
        self._liveness: Liveness | None = None
        connecting = Connecting(self._line, self._set_up)
        self._queue = (
            QueueEngine(connecting, runner, process, Placing(self._place, self._done), takes=TAKES[role])
            if role in TAKES
            else None
        )
        # A command executes what it queues itself: whoever started it waits for that.
        self.engine: QueueEngine | DirectEngine = self._queue or DirectEngine(runner)

    @property
    def trouble(self) -> str:
        """Return why nothing is taken from the queue, in a sentence for anyone; empty while all is well."""
        trouble = self._queue.trouble if self._queue is not None else ""
        return f"Nothing is taken from the queue: {trouble}." if trouble else ""

    @property
    def taken_over(self) -> int:
        """Return how many runs this process took over from others that died."""
        return self._liveness.taken_over if self._liveness is not None else 0

    async def begin(self, stack: AsyncExitStack, parts: Parts) -> None:
        """Take part from now on, and stop at the end: first the work, then the signs of life."""
        survivors = Survivors(
            is_dead=is_dead,
            settling=lambda process: settling(process, parts.settings),
            taken=partial(self._taken, parts.feed.is_read),
            looks_for_forgotten=TAKES.get(self._role, False),
        )
        liveness = self._liveness = Liveness(self._connect, parts.records, self._process, self._about, survivors)
        await liveness.begin()
        stack.push_async_callback(liveness.end)
        stack.push_async_callback(self.engine.stop)
        if self._queue is not None:
            await self._queue.begin(liveness.beat)

    async def _taken(self, is_read: Callable[[str], bool], run: Run) -> None:
        # Where there is a queue the run has a job. Whoever waits for it at a command waits for nobody else.
        if self._queue is None and is_read(run.conversation_id):
            await self.engine.start(run.conversation_id)

    async def _place(self, conversation_id: str, declined: Sequence[str]) -> str | None:
        """Return who must go on with a conversation: who has its terminal, or its folder if this machine does not."""
        if self._liveness is None:
            return None
        if not self._here.programs and await self._here.needs_programs(conversation_id):
            # Also where nobody is known: whoever could do it may have begun a moment ago.
            return await self._with_programs(self._liveness, conversation_id, declined)
        if not self._able(declined):
            return None
        folder = await self._here.folder_of(conversation_id)
        if folder is None:
            return None
        # Asked now: a terminal may have been opened a moment ago.
        await self._liveness.beat()
        able = self._able(declined)
        with_terminal = next((name for name, about in able.items() if conversation_id in about.terminals), None)
        if with_terminal is not None or conversation_id in self._here.terminals():
            return with_terminal
        if await asyncio.to_thread(os.path.isdir, folder):
            return None
        # Nobody knows who has it; whoever is asked last says that it is not there.
        return next((name for name, about in able.items() if about.programs), None)

    async def _with_programs(self, liveness: Liveness, conversation_id: str, declined: Sequence[str]) -> str | None:
        """Return who has the terminal, or else the most room of those who start programs; None where nobody does."""
        await liveness.beat()
        able = [(name, about) for name, about in self._able(declined).items() if about.programs]
        able.sort(key=lambda one: (conversation_id not in one[1].terminals, one[1].at_work / one[1].slots))
        return able[0][0] if able else None

    def _able(self, declined: Sequence[str]) -> dict[str, ProcessAbout]:
        """Return the other processes that execute runs and have not declined this one."""
        others = self._liveness.others if self._liveness is not None else {}
        return {name: about for name, about in others.items() if about.slots and name not in declined}

    async def _done(self) -> None:
        """Tell the others at once of a terminal that was opened here: the next message must come here, too."""
        if self._liveness is not None and self._here.terminals() != self._told:
            with contextlib.suppress(psycopg.Error, OSError):
                await self._liveness.beat()

    def _about(self) -> ProcessAbout:
        self._told = self._here.terminals()
        takes = self._queue is not None and TAKES[self._role]
        return ProcessAbout(
            role=self._role,
            slots=self._runner.slots if takes else 0,
            at_work=self._runner.at_work,
            programs=self._here.programs,
            host=gethostname(),
            version=version("pilothouse"),
            started_at=self._began,
            terminals=tuple(self._told[: limits.TERMINALS_RUNNING]),
            connections=self._connections.name,
            worker=self._queue.manager.worker_id if self._queue is not None else None,
        )

    async def _connect(self) -> psycopg.AsyncConnection[Any]:
        connection = await psycopg.AsyncConnection.connect(self._line)
        await self._set_up(connection)
        return connection

    async def _set_up(self, connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.set_autocommit(True)
        await postgres.set_up(connection, self._connections)
