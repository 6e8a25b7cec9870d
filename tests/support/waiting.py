"""Waits for something to become true, and never longer than it may."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
# Ample: what is waited for comes at once, save on a machine that has much else to do.
PATIENCE = 20.0
PAUSE = 0.01
# At once, on such a machine: what would wait instead takes several times as long, or for ever.
AT_ONCE = 10.0


def until(check: Callable[[], T | None], what: str, timeout: float = PATIENCE) -> T:
    """Ask again and again, and return the first answer that is true."""
    end = time.monotonic() + timeout
    while True:
        answer = check()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout} s in vain for {what}")
        time.sleep(PAUSE)


async def eventually(check: Callable[[], Awaitable[T | None]], what: str, timeout: float = PATIENCE) -> T:
    """Ask again and again without blocking the loop, and return the first answer that is true."""
    end = time.monotonic() + timeout
    while True:
        answer = await check()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout} s in vain for {what}")
        await asyncio.sleep(PAUSE)
