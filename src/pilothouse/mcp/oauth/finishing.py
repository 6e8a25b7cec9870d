"""Work that must not be cut short: what an issuer gives once is lost with whoever asked for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from pilothouse.types import limits

_T = TypeVar("_T")


async def to_its_end(work: Coroutine[Any, Any, _T]) -> _T:
    """Return what the work gives; who is cancelled meanwhile is so when it is done, or after a while."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=limits.TOKEN_GRACE)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
