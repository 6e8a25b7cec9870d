"""Measures how long the event loop is blocked while something runs."""

from __future__ import annotations

import asyncio
import gc
import math
import time
from collections.abc import Callable, Coroutine
from typing import Any

TICK = 0.005
# The processor's time for one turn of the loop; on a machine of its own less than half of it is needed.
MOST = 0.25
# What no stranger's input may take of it.
HELD = 0.1


async def longest_turn(work: Coroutine[Any, Any, object]) -> float:
    """Do something; return the most processor time that the loop's own thread spent without looking up."""
    return await _longest(work, time.thread_time)


async def least_turn(work: Callable[[], Coroutine[Any, Any, object]]) -> float:
    """Return a longest turn; another one's where that is too long: what else the machine did is not there again."""
    turn = await longest_turn(work())
    return turn if turn < MOST else min(turn, await longest_turn(work()))


async def longest_hold(work: Coroutine[Any, Any, object]) -> float:
    """Do something; return the most processor time between two looks of the loop, of all threads together.

    A thread that keeps the interpreter to itself, as one long call into C does, holds up the loop just as well. What
    other tests left in memory is not looked through for garbage meanwhile.
    """
    gc.collect()
    gc.freeze()
    try:
        return await _longest(work, time.process_time)
    finally:
        gc.unfreeze()


async def least_hold(work: Callable[[], Coroutine[Any, Any, object]], tries: int = 3) -> float:
    """Return the least of several longest holds: what else the machine did is not the work's, and not there again."""
    least = math.inf
    for _ in range(tries):
        least = min(least, await longest_hold(work()))
        if least < HELD:
            break
    return least


async def _longest(work: Coroutine[Any, Any, object], clock: Callable[[], float]) -> float:
    task = asyncio.create_task(work)
    worst, last = 0.0, clock()
    while not task.done():
        await asyncio.sleep(TICK)
        now = clock()
        worst, last = max(worst, now - last), now
    await task
    return worst
