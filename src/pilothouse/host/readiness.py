"""Whether something could be kept right now: asked by whoever decides where requests go."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from pilothouse.timeline.feed import Feed
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.records import Records

# What is written for it, in the place of a process.
_NAME = "ready"
_FIX = "Try again in a moment; the log has the details."
# Anyone may ask, so neither addresses nor files are told: only these, word for word.
_WHY = (
    "The disk is full, so nothing new can be saved.",
    "Another program holds the database.",
    "The database does not answer.",
)
_SILENT = _WHY[-1]
_DRAINING = "This process is about to end: it finishes what it has begun."


class Readiness:
    """Writes a small thing, as any message would be; one at a time and not too often, whoever asks."""

    def __init__(self, records: Records, feed: Feed, working: Callable[[], str] = str) -> None:
        self._records = records
        self._feed = feed
        # Why what executes runs here cannot, in a sentence; empty if it can.
        self._working = working
        # Whether this process is asked to end: it finishes what it has, and should get nothing new.
        self.draining = False
        self._asking: asyncio.Task[str] | None = None
        self._asked = 0.0

    async def check(self) -> None:
        """Return when something was kept; raise why nothing is."""
        if self.draining:
            raise PilothouseError("stopping", _DRAINING, fix="Ask another process.")
        if why := self._working():
            raise PilothouseError("database", why, fix=_FIX)
        asking = self._asking
        if asking is None or (asking.done() and time.monotonic() - self._asked >= limits.READY_FRESH):
            self._asked = time.monotonic()
            asking = self._asking = asyncio.create_task(self._ask(), name="readiness")
        await asyncio.wait([asking], timeout=limits.READY_PATIENCE)
        why = asking.result() if asking.done() else _SILENT
        if why:
            raise PilothouseError("database", why, fix=_FIX)

    async def _ask(self) -> str:
        try:
            await self._records.beat(_NAME)
        except PilothouseError as error:
            return _public(error.message)
        # So little may still find a place on a full disk; whoever waits with more has said so.
        trouble = self._feed.trouble("store")
        return _public(trouble) if trouble else ""

    async def close(self) -> None:
        """Ask no longer."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait([self._asking])


def _public(message: str) -> str:
    return next((why for why in _WHY if message.startswith(why)), "The database does not work at the moment.")
