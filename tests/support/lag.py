"""How long the event loop is held up while something is done, whatever else the machine does meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

TICK = 0.005
# The processor's time for one turn of the loop; on a machine of its own less than half of it is needed.
MOST = 0.25


async def longest_turn(work: Coroutine[Any, Any, object]) -> float:
    """Do something; return the most processor time that the loop's own thread spent without looking up."""
    task = asyncio.create_task(work)
    worst, last = 0.0, time.thread_time()
    while not task.done():
        await asyncio.sleep(TICK)
        now = time.thread_time()
        worst, last = max(worst, now - last), now
    await task
    return worst
