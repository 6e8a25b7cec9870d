"""A command at work: started, read, and ended with everything that it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.sandbox.launch import descendants, send
from pilothouse.tools.sandbox.repositories import put_right
from pilothouse.tools.sandbox.sandbox import Order, Prepared, Sandbox
from pilothouse.types import limits

# Whatever was just ended is looked at again this soon, and then less and less often up to this.
_SOON, _LOOK = 0.0005, 0.01


class Child:
    """A process of ours with all that descends from it. Whoever started it calls `end`, however it ended."""

    def __init__(self, process: asyncio.subprocess.Process, prepared: Prepared) -> None:
        self._process = process
        self._group = prepared.group
        self._enclosed = prepared.enclosed
        self._repositories = prepared.repositories
        self.started = time.monotonic()

    @property
    def pid(self) -> int:
        """Return the process that holds the command."""
        return self._process.pid

    @property
    def output(self) -> asyncio.StreamReader:
        """Return what the command writes."""
        if self._process.stdout is None:
            raise RuntimeError("the command writes to a terminal")
        return self._process.stdout

    @property
    def errors(self) -> asyncio.StreamReader | None:
        """Return what it writes as errors, when that is apart."""
        return self._process.stderr

    @property
    def exit_code(self) -> int | None:
        """Return how it ended, as shells say it; None while it runs."""
        code = self._process.returncode
        return code if code is None or code >= 0 else 128 - code

    async def wait(self) -> int:
        """Wait until it has ended, and return how."""
        await self._process.wait()
        return self.exit_code or 0

    async def end(self, *, hangup: bool = False) -> None:
        """End it and everything that descends from it: SIGTERM, a moment, SIGKILL. Safe to call at any time.

        A shell that someone types at ignores SIGTERM; it goes when its terminal does.
        """
        if self.exit_code is None:
            found = await asyncio.to_thread(descendants, self.pid)
            self._tell(found, signal.SIGTERM)
            if hangup:
                # The shell alone, and what stands between us and it, need no time to tidy up.
                if len(found) > (2 if self._enclosed else 1):
                    await self._gone(limits.COMMAND_GRACE / 2)
                self._tell(found, signal.SIGHUP)
            await self._gone(limits.COMMAND_GRACE)
        await self._kill()
        if self._group is not None:
            self._group.kill()
            await asyncio.to_thread(self._remove_group)
        if self._repositories:
            await asyncio.to_thread(put_right, self._repositories)

    def _tell(self, pids: set[int], number: signal.Signals) -> None:
        for pid in pids:
            send(pid, number)
            # A stopped process hears nothing before it goes on.
            send(pid, signal.SIGCONT)
        if sys.platform != "linux":
            self._signal_group(number)

    async def _gone(self, within: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._process.wait()

    async def _kill(self) -> None:
        """End the holder and whatever descends from it; where it ends the others itself, it is asked to first."""
        if self.exit_code is None and not self._enclosed:
            send(self.pid, signal.SIGTERM)
            await self._gone(limits.COMMAND_GONE)
        if self.exit_code is None:
            await asyncio.to_thread(kill_tree, self.pid)
            await self._gone(limits.COMMAND_GONE)
        self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _remove_group(self) -> None:
        until, pause = time.monotonic() + limits.COMMAND_GONE, _SOON
        while self._group is not None and not self._group.remove() and time.monotonic() < until:
            time.sleep(pause)
            pause = min(2 * pause, _LOOK)


def kill_tree(pid: int) -> None:
    """End a process and all that descends from it.

    It is stopped first: one that is only just being started could let its child go when it dies.
    """
    send(pid, signal.SIGSTOP)
    until = time.monotonic() + limits.COMMAND_GONE
    while (found := descendants(pid)) and time.monotonic() < until:
        for each in found:
            send(each, signal.SIGKILL)
        time.sleep(_LOOK)
    send(pid, signal.SIGKILL)


async def start(sandbox: Sandbox, order: Order, *, apart: bool = False) -> Child:
    """Start a command without input, its output and errors together or apart."""
    pipe = asyncio.subprocess.PIPE
    return await _started(
        sandbox, order, (asyncio.subprocess.DEVNULL, pipe, pipe if apart else asyncio.subprocess.STDOUT)
    )


async def start_at(sandbox: Sandbox, order: Order, terminal: int) -> Child:
    """Start a command that reads and writes a terminal."""
    return await _started(sandbox, order, (terminal, terminal, terminal))


async def _started(sandbox: Sandbox, order: Order, streams: tuple[int, int, int]) -> Child:
    """Start a command as a whole: one who is cancelled meanwhile leaves no half-started process behind."""
    spawning = asyncio.ensure_future(_spawn(sandbox, order, streams))
    try:
        return await asyncio.shield(spawning)
    except asyncio.CancelledError:
        await asyncio.wait([spawning])
        if spawning.exception() is None:
            await asyncio.shield(spawning.result().end())
        raise


async def _spawn(sandbox: Sandbox, order: Order, streams: tuple[int, int, int]) -> Child:
    try:
        with sandbox.prepared(order) as ready:
            process = await asyncio.create_subprocess_exec(
                *ready.argv,
                env=ready.environment,
                cwd="/",
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                pass_fds=ready.descriptors,
                start_new_session=True,
            )
            return Child(process, ready)
    except OSError as error:
        why = (error.strerror or "the system refuses").lower()
        raise BadArgument(f"The command could not be started: {why}.", "NOT_STARTED") from None
