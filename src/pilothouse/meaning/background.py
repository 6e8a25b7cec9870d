"""Work that is done when nobody waits for it: a while after something changed, and now and then."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from pilothouse.types import limits

_log = logging.getLogger(__name__)


class Work(Protocol):
    """What is to be done; returns after how many seconds there is more to do, 0 for nothing."""

    async def __call__(self, *, everything: bool) -> float:
        """Do it."""


class Background:
    """One task, only in the process that serves; in others nothing happens before someone asks."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin, after a while."""
        if self._task is None:
            self._task = asyncio.create_task(self._go_on(), name="meaning")

    def wake(self) -> None:
        """Say that something changed."""
        self._woken.set()

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _go_on(self) -> None:
        everything = True
        while True:
            # Whoever writes one thing often writes another; and a start has better things to do.
            await asyncio.sleep(limits.MEANING_QUIET)
            self._woken.clear()
            try:
                again = await self._work(everything=everything)
            except Exception:
                _log.exception("texts were not made findable by meaning")
                again = limits.MEANING_AGAIN
            try:
                async with asyncio.timeout(again or limits.MEANING_AGAIN):
                    await self._woken.wait()
                everything = False
            except TimeoutError:
                everything = True
