"""One command from its start to its end: what it wrote, and why it ended."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from pilothouse.tools.sandbox.processes import Child, start
from pilothouse.tools.sandbox.resource_limits import Caps
from pilothouse.tools.sandbox.sandbox import Order, Sandbox
from pilothouse.tools.terminal.output_buffer import HeadTail
from pilothouse.types import limits

_PIECE = 256 * 1024
# Enough for a line of output and any secret in it.
_RECENT = 4_096
# Why a command is over.
Ending = Literal["ended", "timeout", "disk"]


class Outcome(msgspec.Struct, frozen=True):
    """How a command ended and what it wrote."""

    exit_code: int
    output: HeadTail
    seconds: float
    ending: Ending


async def run_command(
    sandbox: Sandbox, order: Order, timeout: float, tell: Callable[[bytes], None] = lambda recent: None
) -> Outcome:
    """Run a command and wait for it; `tell` gets the end of its output now and then.

    However this ends, by itself, in time, or by being cancelled: everything that the command started is gone.
    """
    began = time.monotonic()
    child = await start(sandbox, order)
    kept = HeadTail()
    reading = asyncio.create_task(read_all(child, kept.add, tell), name="command output")
    try:
        ending = await watched(child, order.folder, sandbox.caps, timeout)
    finally:
        await asyncio.shield(finish(child, reading))
    return Outcome(child.exit_code or 0, kept, time.monotonic() - began, ending)


async def watched(child: Child, folder: str, caps: Caps, timeout: float | None) -> Ending:
    """Wait for a command's end, for the end of its time, or for the disk to run full."""
    waiting = asyncio.create_task(child.wait())
    filling = asyncio.create_task(_disk_fills(folder, caps))
    try:
        done, _ = await asyncio.wait({waiting, filling}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        filling.cancel()
        await asyncio.wait({waiting, filling})
    return "ended" if waiting in done else "disk" if filling in done else "timeout"


async def finish(child: Child, reading: asyncio.Task[None]) -> None:
    """End a command and everything that it started, and read what it wrote last."""
    await child.end()
    # Everything that could write is gone; what it wrote last is on its way.
    await asyncio.wait([reading], timeout=limits.COMMAND_GRACE)
    reading.cancel()
    await asyncio.wait([reading])


async def read_all(child: Child, take: Callable[[bytes], None], tell: Callable[[bytes], None]) -> None:
    """Read what a command writes until it closes its output; a flood is read and mostly forgotten."""
    told, recent = 0.0, b""
    while piece := await child.output.read(_PIECE):
        take(piece)
        recent = (recent + piece)[-_RECENT:]
        if time.monotonic() - told >= limits.COMMAND_TOLD:
            told = time.monotonic()
            tell(recent)


async def _disk_fills(folder: str, caps: Caps) -> None:
    """Return when a command has left too little of the disk, or too few names, for everyone else."""
    space, names = await asyncio.to_thread(_free, folder)
    least = (
        min(caps.disk_reserve, int(space * caps.disk_share)),
        min(limits.COMMAND_NAMES_RESERVE, int(names * caps.disk_share)),
    )
    while True:
        await asyncio.sleep(limits.COMMAND_DISK_LOOK)
        now = await asyncio.to_thread(_free, folder)
        if any(left < bound for left, bound in zip(now, least, strict=True)):
            return


def _free(folder: str) -> tuple[int, int]:
    try:
        found = os.statvfs(folder)
    except OSError:
        # It may have removed its own folder: no reason to end it.
        return sys.maxsize, sys.maxsize
    return found.f_bavail * found.f_frsize, found.f_favail
