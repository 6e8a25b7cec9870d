"""Reminds models of memories: of what they have just stored, and of what may matter to a message.

Most people have none, and every message asks: what reads, compares and words them is loaded where there are some.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from pilothouse.memory.recent import RecentMemories
from pilothouse.types import limits
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.lazy import Lazy
from pilothouse.types.todos import Reminder
from pilothouse.types.tool_names import MEMORY

if TYPE_CHECKING:
    from pilothouse.memory.offers import Offers
    from pilothouse.types.memories import RecentRecords

_log = logging.getLogger(__name__)


class StoredReminders:
    """Reminds of what the conversation stored within the last minutes; implements the port `Reminders`."""

    def __init__(self, recent: RecentMemories) -> None:
        self._recent = recent

    async def current(self, conversation_id: str, branch: int = 0) -> tuple[Reminder, ...]:
        stored = await self._recent.of(conversation_id)
        if not stored:
            return ()
        from pilothouse.memory.reminder_texts import stored_text  # noqa: PLC0415

        return (Reminder("stored memories", stored_text(stored), MEMORY),)


class Offering:
    """Looks for what may matter to a message; implements the port `Recall`."""

    def __init__(self, kept: RecentRecords, offers: Lazy[Offers]) -> None:
        self._kept = kept
        self._offers = offers

    async def offered(self, conversation: Conversation, message: str) -> Reminder | None:
        try:
            async with asyncio.timeout(limits.MEMORY_OFFER_TIME):
                if not message.strip() or not await self._kept.has_memories(conversation.owner):
                    return None
                return await self._offers().fitting(conversation, message)
        except (TimeoutError, PilothouseError) as error:
            _log.info("no memories were offered: %s", error or "it took too long")
            return None
