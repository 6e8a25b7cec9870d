"""Reminds models of memories: of what they have just stored, and of what may matter to a message."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from pathlib import Path

from pilothouse.memory import texts
from pilothouse.memory.recent import RecentMemories
from pilothouse.memory.searching import MemorySearcher
from pilothouse.types import limits
from pilothouse.types.conversations import Conversation
from pilothouse.types.durations import age_of
from pilothouse.types.errors import PilothouseError
from pilothouse.types.memories import Memory, MemoryMatch, MemoryRecords, MemoryWords
from pilothouse.types.scopes import scopes_seen
from pilothouse.types.todos import Reminder
from pilothouse.types.tool_names import MEMORY

_log = logging.getLogger(__name__)
_STORED = (Path(__file__).parent / "reminder_stored.md").read_text().strip()
_OFFERED = (Path(__file__).parent / "reminder_offered.md").read_text().strip()
_SAID_BY = {"person": "the person's word", "agent": "an agent's note", "stranger": "perhaps a stranger's words"}


class StoredReminders:
    """Reminds of what the conversation stored within the last minutes; implements the port `Reminders`."""

    def __init__(self, recent: RecentMemories) -> None:
        self._recent = recent

    async def current(self, conversation_id: str, branch: int = 0) -> tuple[Reminder, ...]:
        stored = await self._recent.of(conversation_id)
        return (Reminder("stored memories", _stored(stored), MEMORY),) if stored else ()


def _stored(memories: Sequence[Memory]) -> str:
    lines = [
        f"- {texts.preview(one.title)} [{one.short}]: {texts.preview(one.text)}"
        for one in memories[-limits.MEMORIES_REMINDED :]
    ]
    left = len(memories) - len(lines)
    more = [f"and {left} more"] if left > 0 else []
    return "\n".join(["<recentlyStoredMemories>", *lines, *more, _STORED, "</recentlyStoredMemories>"])


class Offering:
    """Looks for what may matter to a message; implements the port `Recall`.

    What strangers may have written is never offered: a model that asks for it is known to have read it.
    """

    def __init__(self, kept: MemoryRecords, searcher: MemorySearcher) -> None:
        self._kept = kept
        self._searcher = searcher

    async def offered(self, conversation: Conversation, message: str) -> Reminder | None:
        try:
            async with asyncio.timeout(limits.MEMORY_OFFER_TIME):
                found = await self._matches(conversation, message)
        except (TimeoutError, PilothouseError) as error:
            _log.info("no memories were offered: %s", error or "it took too long")
            return None
        if not found:
            return None
        private = tuple(sorted({source for one in found for source in one.private}))
        return Reminder("memories", _offered(found), MEMORY, private)

    async def _matches(self, conversation: Conversation, message: str) -> list[Memory]:
        if not message.strip() or not await self._kept.has_memories(conversation.owner):
            return []
        words = MemoryWords(message, scopes_seen(conversation), limits.MEMORY_OFFERED_LIKENESS, limits.MEMORY_HITS)
        found = await self._searcher.search(conversation.owner, words, any_words=True)
        fit = [match.memory for match in found.matches if not match.memory.tainted and _matters(match, message)]
        return fit[: limits.MEMORIES_OFFERED]


def _matters(match: MemoryMatch, message: str) -> bool:
    if match.found_by != "words":
        return True
    said = f"{match.memory.title} {match.memory.text}"
    shared = texts.shared(texts.bare_words(message[: limits.MEMORY_QUERY_CHARS]), texts.bare_words(said))
    return shared >= limits.MEMORY_OFFERED_WORDS


def _offered(memories: Sequence[Memory]) -> str:
    now = time.time()
    lines = [
        f"- {texts.preview(one.title)} [{one.short}], {_SAID_BY[one.says]}, {age_of(now - one.updated_at)} old: "
        f"{texts.preview(one.text, 2 * limits.MEMORY_PREVIEW_CHARS)}"
        for one in memories
    ]
    return "\n".join(["<memoriesThatMayMatter>", *lines, _OFFERED, "</memoriesThatMayMatter>"])
