"""The indexes of a running server's core."""

from __future__ import annotations

from pilothouse.remote.calling import Calling, at
from pilothouse.types.searching import IndexView


class RemoteIndexes:
    """The part of `ClientApi` that is about indexes, over HTTP."""

    _calling: Calling

    async def index(self, owner: str, conversation_id: str) -> IndexView:
        """Return how the index of a conversation's working directory stands."""
        return await self._calling.ask("GET", at("conversations", conversation_id, "index"), IndexView)
