"""Whether something listens at a port of a host: nothing is said to it."""

from __future__ import annotations

import asyncio
import contextlib

from pilothouse.net.addresses import resolve
from pilothouse.net.certificates import shown_by
from pilothouse.types import limits


async def addresses_of(host: str) -> list[str]:
    """Return the addresses of a host that the person named; raise NetError that names it."""
    return await resolve(host, 0)


async def is_open(address: str, port: int, seconds: float = limits.NEARBY_KNOCK) -> bool:
    """Return whether a connection to a port of an address can be made in time."""
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(address, port)
    except OSError:
        # A TimeoutError is an OSError.
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True


async def is_encrypted(host: str, port: int, seconds: float = limits.NEARBY_KNOCK) -> bool:
    """Return whether a server shows a certificate at a port, whoever vouches for it."""
    try:
        async with asyncio.timeout(seconds):
            return bool(await shown_by(host, port))
    except TimeoutError:
        # Who does not understand the greeting may wait for the rest of it.
        return False
