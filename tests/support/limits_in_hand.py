"""Limits of the product that are over when a test says so, not when a machine that has much else to do is slow.

What is to be ended by its limit is waited for first; then its limit runs out. Nothing honest ever meets it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from pilothouse.types import limits
from tests.support.waiting import PATIENCE, eventually


class InHand(float):
    """A number of seconds that only the test counts, where it is given to `asyncio.timeout` or `asyncio.wait`."""

    _ends: dict[object, Callable[[], None]]

    @property
    def running(self) -> int:
        """Return how many waits there are under this limit now."""
        return len(self._ends)

    async def met(self, times: int = 1) -> None:
        """Wait until so many waits are under way under it."""

        async def look() -> bool:
            return self.running >= times

        await eventually(look, f"{times} waits under the limit")

    def run_out(self) -> None:
        """Let it be over for whatever waits under it now."""
        for end in list(self._ends.values()):
            end()

    async def run_out_again(self) -> None:
        """Let it be over for a wait that begins, if none is under way."""
        await self.met()
        ended = set(self._ends)
        self.run_out()

        async def gone() -> bool:
            return not ended & set(self._ends)

        await eventually(gone, "the wait to end")

    @contextmanager
    def _counting(self, end: Callable[[], None]) -> Iterator[None]:
        mark = object()
        self._ends[mark] = end
        try:
            yield
        finally:
            del self._ends[mark]


def in_hand(monkeypatch: pytest.MonkeyPatch, name: str, seconds: float | None = None) -> InHand:
    """Take a limit into hand; it is still told as so many seconds, the product's own if none are given."""
    limit = InHand(getattr(limits, name) if seconds is None else seconds)
    limit._ends = {}
    real_timeout, real_wait = asyncio.timeout, asyncio.wait

    @asynccontextmanager
    async def held() -> AsyncIterator[asyncio.Timeout]:
        # A test that never runs it out ends all the same.
        async with real_timeout(PATIENCE) as inner:
            with limit._counting(lambda: None if inner.expired() else inner.reschedule(0)):
                yield inner

    async def held_wait(futures: set[asyncio.Future[Any]], return_when: str) -> tuple[set[Any], set[Any]]:
        over = asyncio.Event()
        waiting = asyncio.create_task(over.wait())
        try:
            with limit._counting(over.set):
                while True:
                    pending = {each for each in futures if not each.done()}
                    enough = return_when == asyncio.FIRST_COMPLETED and len(pending) < len(futures)
                    if not pending or enough or over.is_set():
                        return futures - pending, pending
                    first = asyncio.FIRST_COMPLETED
                    done, _ = await real_wait({*pending, waiting}, timeout=PATIENCE, return_when=first)
                    if not done:
                        over.set()
        finally:
            waiting.cancel()

    def timeout(delay: float | None) -> Any:
        return held() if delay is limit else real_timeout(delay)

    async def wait(fs: Any, *, timeout: float | None = None, return_when: str = asyncio.ALL_COMPLETED) -> Any:
        if timeout is limit:
            return await held_wait(set(fs), return_when)
        return await real_wait(fs, timeout=timeout, return_when=return_when)

    monkeypatch.setattr(limits, name, limit)
    monkeypatch.setattr(asyncio, "timeout", timeout)
    monkeypatch.setattr(asyncio, "wait", wait)
    return limit
