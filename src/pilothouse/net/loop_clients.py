"""The HTTP clients of each event loop: made when first needed, closed with what the loop does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from pilothouse.types.lazy import Lazy

if TYPE_CHECKING:
    from pilothouse.net.httpx_client import ProxyClient
    from pilothouse.net.pool import Pool


class LoopClients:
    """Straight, and through a proxy; whoever has none need not wait for the library that speaks with them."""

    def __init__(self) -> None:
        self.pool = Lazy(_pool)
        self.proxy = Lazy(_proxy)


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopClients] = WeakKeyDictionary()


def clients() -> LoopClients:
    """Return the clients of the running event loop."""
    loop = asyncio.get_running_loop()
    found = _by_loop.get(loop)
    if found is None:
        found = _by_loop[loop] = LoopClients()
    return found


async def close_clients() -> None:
    """Close the connections of this event loop; the next request makes new ones."""
    found = _by_loop.pop(asyncio.get_running_loop(), None)
    if found is None:
        return
    if (pool := found.pool.made) is not None:
        pool.close()
    if (proxy := found.proxy.made) is not None:
        await proxy.aclose()


def _pool() -> Pool:
    from pilothouse.net.pool import Pool  # noqa: PLC0415

    return Pool()


def _proxy() -> ProxyClient:
    from pilothouse.net.httpx_client import ProxyClient  # noqa: PLC0415

    return ProxyClient()
