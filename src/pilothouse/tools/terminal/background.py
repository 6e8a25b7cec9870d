"""Commands in the background: listed, read from any place on, and stopped when someone says so."""

from __future__ import annotations

import asyncio
import time

from pilothouse.tools.sandbox.processes import Child, start
from pilothouse.tools.sandbox.resource_limits import Caps
from pilothouse.tools.sandbox.sandbox import Order, Sandbox
from pilothouse.tools.terminal.commands import finish, read_all, watched
from pilothouse.tools.terminal.masking import covered_piece, held_back
from pilothouse.tools.terminal.output_buffer import Ring
from pilothouse.tools.terminal.text import decode, plain
from pilothouse.types.ids import new_id
from pilothouse.types.ports import Cover
from pilothouse.types.terminals import ProcessOutput, ProcessView


class Background:
    """One command in the background. Made by `start_background`."""

    def __init__(self, child: Child, conversation_id: str, item_id: str, text: str, cover: Cover) -> None:
        self.id = new_id("p")
        self._child = child
        self._conversation_id = conversation_id
        self._item_id = item_id
        self._text = text
        self._cover = cover
        self._started_at = time.time()
        self._ended_at: float | None = None
        self.ring = Ring()
        # Why it ended, when it was not by itself.
        self.note = ""
        self._task: asyncio.Task[None] | None = None

    def watch(self, folder: str, caps: Caps) -> None:
        """Read and watch it until it ends."""
        self._task = asyncio.create_task(self._watch(folder, caps), name=f"background {self.id}")

    async def _watch(self, folder: str, caps: Caps) -> None:
        reading = asyncio.create_task(read_all(self._child, self.ring.add, lambda recent: None))
        try:
            if await watched(self._child, folder, caps, None) == "disk":
                self.note = "It was ended because the disk was almost full."
        finally:
            await asyncio.shield(self._finish(reading))

    async def _finish(self, reading: asyncio.Task[None]) -> None:
        await finish(self._child, reading)
        self._ended_at = time.time()

    @property
    def running(self) -> bool:
        """Return whether it still runs."""
        return self._ended_at is None

    def view(self) -> ProcessView:
        """Return it as people see it."""
        return ProcessView(
            id=self.id,
            conversation_id=self._conversation_id,
            item_id=self._item_id,
            command=self._cover.cover(self._text.encode(errors="surrogateescape")).decode(errors="replace"),
            pid=self._child.pid,
            started_at=self._started_at,
            ended_at=self._ended_at,
            exit_code=None if self.running else self._child.exit_code,
            output_bytes=self.ring.end,
        )

    def output(self, from_index: int) -> ProcessOutput:
        """Return what it wrote from an index on, as far as that is still there."""
        piece = covered_piece(self.ring, from_index, self._cover)
        held = held_back(piece, self._cover) if self.running else 0
        return ProcessOutput(
            output=plain(decode(piece[: len(piece) - held])),
            end_index=self.ring.end - held,
            running=self.running,
            exit_code=None if self.running else self._child.exit_code,
        )

    async def wait(self) -> None:
        """Wait until it has ended."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def stop(self) -> None:
        """End it and everything that it started."""
        if self._task is not None:
            await self._child.end()
            await asyncio.wait([self._task])


async def start_background(sandbox: Sandbox, order: Order, item_id: str, text: str, cover: Cover) -> Background:
    """Start a command and leave it running."""
    background = Background(await start(sandbox, order), order.owner, item_id, text, cover)
    background.watch(order.folder, sandbox.caps)
    return background
