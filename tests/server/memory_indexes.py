"""Indexes of the core that keeps everything in memory: there are none."""

from __future__ import annotations

from abc import abstractmethod

from pilothouse.types.conversations import Conversation
from pilothouse.types.searching import IndexView


class MemoryIndexes:
    """No folder is searched here."""

    @abstractmethod
    def _own(self, owner: str, conversation_id: str) -> Conversation: ...

    async def index(self, owner: str, conversation_id: str) -> IndexView:
        """Say that there is none."""
        self._own(owner, conversation_id)
        return IndexView(working_directory="", state="none")
