"""Waiting for a store that is away, and telling everyone: nothing is lost, and nothing fails for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol, TypeVar

from pilothouse.types import limits
from pilothouse.types.errors import PASSING, PilothouseError

T = TypeVar("T")


class StatusFeed(Protocol):
    """Whoever tells everyone about the state of the server."""

    def notice(self, level: Literal["info", "warning", "error"], code: str, message: str) -> None:
        """Tell it; new watchers hear what still holds."""
        ...


async def wait_for_store(feed: StatusFeed, error: PilothouseError) -> None:
    """Tell everyone why nothing moves, and wait a moment."""
    store_is_away(feed, error)
    await asyncio.sleep(limits.STORE_RETRY)


async def patiently(feed: StatusFeed, ask: Callable[[], Awaitable[T]]) -> T:
    """Ask something of the store until it can answer."""
    while True:
        try:
            return await ask()
        except PilothouseError as error:
            if error.code not in PASSING:
                raise
            await wait_for_store(feed, error)


def store_is_away(feed: StatusFeed, error: PilothouseError) -> None:
    """Tell everyone why nothing moves."""
    feed.notice("error", "store", f"{error.message} Everything is paused. {error.fix}")


def store_is_well(feed: StatusFeed) -> None:
    """Take the notice back, if there was one."""
    feed.notice("info", "store", "Saving works again.")
