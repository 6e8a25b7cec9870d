"""The index of a conversation's working directory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

from pilothouse.types.host_terminals import Indexes
from pilothouse.types.records import Records
from pilothouse.types.searching import IndexView


class IndexService(Indexes):
    """How far the indexes are, as a person sees it."""

    def __init__(self, records: Records, index: Callable[[str], Awaitable[IndexView]]) -> None:
        self._records = records
        self._index = index

    async def get(self, owner: str, conversation_id: str) -> IndexView:
        conversation = await self._records.conversation(owner, conversation_id)
        folder = conversation.settings.working_directory
        if not folder:
            return IndexView(working_directory="", state="none")
        return await self._index(await asyncio.to_thread(os.path.realpath, folder))
