"""Programs that other tools of ours need: git, checkers, tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from pilothouse.tools.sandbox.processes import Child, start
from pilothouse.tools.sandbox.sandbox import Order, Sandbox
from pilothouse.types import limits
from pilothouse.types.terminals import Ran, SandboxView

_PIECE = 256 * 1024


class SandboxRunner:
    """Runs programs in the sandbox and waits for them."""

    def __init__(self, sandbox: Sandbox, owner: str = "") -> None:
        self._sandbox = sandbox
        # Whose temporary files the programs share.
        self._owner = owner

    def view(self) -> SandboxView:
        """Return what will hold them."""
        return self._sandbox.view()

    async def run(
        self,
        argv: Sequence[str],
        folder: str,
        timeout: float,
        network: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run a program in a folder without input and wait for it; everything it started ends with it.

        `environment` is added to the few variables that every program gets. Cancelling ends the program.
        """
        order = Order(
            argv=tuple(argv), folder=folder, network=network, environment=environment or {}, owner=self._owner
        )
        ran = await self._once(order, timeout)
        # A service's socket that was to be hidden can be gone by then, and the sandbox is not made: nothing ran.
        return await self._once(order, timeout) if _was_not_made(ran) else ran

    async def _once(self, order: Order, timeout: float) -> Ran:
        began = time.monotonic()
        child = await start(self._sandbox, order, apart=True)
        output, errors = _Taken(), _Taken()
        timed_out = False
        try:
            async with asyncio.timeout(timeout):
                await _until_ended(child, output, errors)
        except TimeoutError:
            timed_out = True
        finally:
            await asyncio.shield(child.end())
        return Ran(
            exit_code=child.exit_code or 0,
            output=bytes(output.data),
            errors=bytes(errors.data),
            seconds=time.monotonic() - began,
            timed_out=timed_out,
            cut=output.cut or errors.cut,
        )


def _was_not_made(ran: Ran) -> bool:
    """Return whether a place that was to be hidden was gone: it cannot be made where nothing can be written."""
    missing = (b"bwrap: Can't mkdir parents for ", b"bwrap: Can't create file at ")
    return ran.exit_code == 1 and ran.errors.startswith(missing) and b"Read-only file system" in ran.errors


class _Taken:
    """What was read so far; beyond its bound it is read and dropped."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.cut = False

    async def all_of(self, stream: asyncio.StreamReader | None) -> None:
        while stream is not None and (piece := await stream.read(_PIECE)):
            room = limits.RUN_OUTPUT_BYTES - len(self.data)
            self.data += piece[:room]
            self.cut = self.cut or len(piece) > room


async def _until_ended(child: Child, output: _Taken, errors: _Taken) -> None:
    """Read until the program has ended; what it left behind may hold the pipes open and is not waited for."""
    reading = [
        asyncio.create_task(output.all_of(child.output)),
        asyncio.create_task(errors.all_of(child.errors)),
    ]
    try:
        await child.wait()
        # What it wrote last may still be on its way.
        await asyncio.wait(reading, timeout=limits.COMMAND_GRACE)
    finally:
        for task in reading:
            task.cancel()
        await asyncio.wait(reading)
