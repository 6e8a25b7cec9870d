"""What conversations have stored lately, as this process knows it."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pilothouse.types import limits

if TYPE_CHECKING:
    from pilothouse.types.memories import Memory, RecentRecords


class RecentMemories:
    """The memories that each conversation stored within the last minutes; the database is asked once for each."""

    def __init__(self, records: RecentRecords) -> None:
        self._records = records
        self._known: OrderedDict[str, Sequence[Memory]] = OrderedDict()
        # How often something was written: what was read before that is not remembered after it.
        self._forgotten = 0

    async def of(self, conversation_id: str) -> list[Memory]:
        """Return them, oldest first."""
        since = time.time() - limits.MEMORY_REMINDED_SECONDS
        known = self._known.get(conversation_id)
        if known is None:
            asked = self._forgotten
            known = await self._records.memories_of_conversation(conversation_id, since, hidden=True)
            if asked == self._forgotten:
                self._known[conversation_id] = known
                if len(self._known) > limits.TODO_LISTS_KEPT:
                    self._known.popitem(last=False)
        if any(memory.scope.kind == "topic" for memory in known):
            # Their topic may have been deleted, or brought back, since.
            known = await self._records.memories_of_conversation(conversation_id, since)
        return [memory for memory in known if memory.created_at > since]

    def forget(self, conversation_id: str | None = None) -> None:
        """Look again: something was written for a conversation, or perhaps for any."""
        self._forgotten += 1
        if conversation_id is None:
            self._known.clear()
        else:
            self._known.pop(conversation_id, None)
