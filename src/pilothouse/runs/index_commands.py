"""Commands about the index of a conversation's working directory."""

from __future__ import annotations

import asyncio
import os

from pilothouse.types.records import Records
from pilothouse.types.searching import IndexHost, IndexView


class IndexCommands:
    """The part of the core by which a person sees how far an index is."""

    def __init__(self, records: Records, indexes: IndexHost) -> None:
        self._of_indexes = records
        self._indexes = indexes

    async def index(self, owner: str, conversation_id: str) -> IndexView:
        """Return how the index of a conversation's working directory stands."""
        conversation = await self._of_indexes.conversation(owner, conversation_id)
        folder = conversation.settings.working_directory
        if not folder:
            return IndexView(working_directory="", state="none")
        return await self._indexes.view(await asyncio.to_thread(os.path.realpath, folder))
