"""Signs of life of a server while it works on a call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from pilothouse.mcp.channel import ChannelError
from pilothouse.types import limits

if TYPE_CHECKING:
    from pilothouse.mcp.session import Session


@asynccontextmanager
async def attended(session: Session, sign: Callable[[], None]) -> AsyncIterator[None]:
    """Hear everything that a server sends as a sign; when it sends nothing, ask for one.

    What is not answered ends nothing: a tool may hold up its own server until it is done.
    """
    session.listeners.append(sign)
    asking = asyncio.create_task(_ask(session), name="mcp-signs")
    try:
        yield
    finally:
        session.listeners.remove(sign)
        asking.cancel()
        await asyncio.wait([asking])


async def _ask(session: Session) -> None:
    clock = asyncio.get_running_loop().time
    while True:
        await asyncio.sleep(max(0.0, session.heard_at + limits.SIGN_ASKED - clock()) or limits.SIGN_ASKED)
        if clock() - session.heard_at >= limits.SIGN_ASKED:
            with suppress(ChannelError):
                await session.ping()
