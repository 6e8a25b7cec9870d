"""Reads of the store that readers share: those of a conversation who are woken together ask once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from pilothouse.types.feed import FeedEvent

Page = Sequence[FeedEvent]


class SharedReads:
    """Who reads what comes after a number, for all who want the same."""

    def __init__(self) -> None:
        # Nothing comes of one that is broken off or fails.
        self._begun: dict[str, dict[int, asyncio.Future[Page | None]]] = {}

    def wrote(self, conversation_id: str) -> None:
        """Let nobody join a read that began before this: it may not have what was written."""
        self._begun.pop(conversation_id, None)

    async def page(self, conversation_id: str, after: int, read: Callable[[], Awaitable[Page]]) -> Page:
        """Return what another reads just now, or read; raise what that raises."""
        while (other := self._begun.get(conversation_id, {}).get(after)) is not None:
            if (found := await asyncio.shield(other)) is not None:
                return found
        begun = self._begun.setdefault(conversation_id, {})
        own = begun[after] = asyncio.get_running_loop().create_future()
        page: Page | None = None
        try:
            page = await read()
            return page
        finally:
            own.set_result(page)
            self._end(conversation_id, begun, after)

    def _end(self, conversation_id: str, begun: dict[int, asyncio.Future[Page | None]], after: int) -> None:
        # No other began at this number since, except where something was written, and then there is another dictionary.
        del begun[after]
        if not begun and self._begun.get(conversation_id) is begun:
            del self._begun[conversation_id]
