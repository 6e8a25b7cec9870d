"""Memory that is free goes back to the system: by itself the C library keeps it, for each thread what it once used."""

from __future__ import annotations

import asyncio
import ctypes
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pilothouse.types import limits

# What `mallopt` calls them.
_MMAP_THRESHOLD, _ARENAS = -3, -8


@asynccontextmanager
async def giving_back() -> AsyncGenerator[None, None]:
    """Let few heaps serve all threads, and give back what is free of them, for as long as a server runs."""
    library = _library()
    if library is None:
        yield
        return
    library.mallopt(_ARENAS, limits.MALLOC_ARENAS)
    library.mallopt(_MMAP_THRESHOLD, limits.MALLOC_MAPPED_BYTES)
    task = asyncio.create_task(_now_and_then(library), name="giving memory back")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _now_and_then(library: ctypes.CDLL) -> None:
    while True:
        await asyncio.sleep(limits.GIVE_BACK_EVERY)
        # In a thread: it takes milliseconds where much is free.
        await asyncio.to_thread(library.malloc_trim, 0)


def _library() -> ctypes.CDLL | None:
    """Return the C library if it is one that can be told; others give memory back by themselves."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") and hasattr(library, "mallopt") else None
