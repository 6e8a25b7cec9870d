"""Which memories may matter to a message, and in which words they are offered."""

from __future__ import annotations

from pilothouse.memory import texts
from pilothouse.memory.reminder_texts import offered_text
from pilothouse.memory.searching import MemorySearcher
from pilothouse.types import limits
from pilothouse.types.conversations import Conversation
from pilothouse.types.memories import MemoryMatch, MemoryWords
from pilothouse.types.scopes import scopes_seen
from pilothouse.types.todos import Reminder
from pilothouse.types.tool_names import MEMORY


class Offers:
    """Finds them.

    What strangers may have written is never offered: a model that asks for it is known to have read it.
    """

    def __init__(self, searcher: MemorySearcher) -> None:
        self._searcher = searcher

    async def fitting(self, conversation: Conversation, message: str) -> Reminder | None:
        """Return what is remembered about what a message is about."""
        words = MemoryWords(message, scopes_seen(conversation), limits.MEMORY_OFFERED_LIKENESS, limits.MEMORY_HITS)
        found = await self._searcher.search(conversation.owner, words, any_words=True)
        fit = [match.memory for match in found.matches if not match.memory.tainted and _matters(match, message)]
        offered = fit[: limits.MEMORIES_OFFERED]
        if not offered:
            return None
        private = tuple(sorted({source for one in offered for source in one.private}))
        return Reminder("memories", offered_text(offered), MEMORY, private)


def _matters(match: MemoryMatch, message: str) -> bool:
    if match.found_by != "words":
        return True
    said = f"{match.memory.title} {match.memory.text}"
    shared = texts.shared(texts.bare_words(message[: limits.MEMORY_QUERY_CHARS]), texts.bare_words(said))
    return shared >= limits.MEMORY_OFFERED_WORDS
