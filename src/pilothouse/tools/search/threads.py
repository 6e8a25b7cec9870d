"""Work beside the event loop that ends soon after nobody wants it any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[Event], T]) -> T:
    """Do work in a thread. When the call is cancelled, the work is told so, and has ended when this returns."""
    stop = Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()
        raise
