"""Conversations into a running server's core."""

from __future__ import annotations

from collections.abc import AsyncIterator

from pilothouse.remote.calling import Calling
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.exchange import Imported


class RemoteExchange:
    """The part of `ClientApi` that is about files of conversations, over HTTP."""

    _calling: Calling

    async def import_conversations(self, owner: str, chunks: AsyncIterator[bytes]) -> Imported:
        """Take the conversations of an export over, all or none."""
        content = bytearray()
        async for chunk in chunks:
            content += chunk
            if len(content) > limits.CONVERSATIONS_FILE_BYTES:
                size = f"{limits.CONVERSATIONS_FILE_BYTES // 2**20} MiB"
                fix = "Export fewer conversations at once, or use a backup."
                raise PilothouseError("too_large", f"A file of conversations has at most {size}.", fix=fix)
        return await self._calling.upload("/api/import", Imported, bytes(content))
