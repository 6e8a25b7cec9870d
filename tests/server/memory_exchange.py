"""Files of conversations of the core that keeps everything in memory: there is nothing in them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator

from pilothouse.types.conversations import Conversation
from pilothouse.types.exchange import Download, ExportFormat, Imported


class MemoryExchange:
    """Nothing goes out but a title, and nothing comes in."""

    @abstractmethod
    def _own(self, owner: str, conversation_id: str) -> Conversation: ...

    async def export_conversation(self, owner: str, conversation_id: str, form: ExportFormat) -> Download:
        """Return the title."""

        async def title() -> AsyncIterator[bytes]:
            yield conversation.title.encode()

        conversation = self._own(owner, conversation_id)
        return Download(name=f"title.{form}", chunks=title())

    async def import_conversations(self, owner: str, chunks: AsyncIterator[bytes]) -> Imported:
        """Read the file."""
        async for _ in chunks:
            pass
        return Imported(conversations=())
