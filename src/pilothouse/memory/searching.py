"""Finds memories by their words and by what they mean."""

from __future__ import annotations

import asyncio
import math

from pilothouse.memory import texts
from pilothouse.types import limits
from pilothouse.types.meaning import Meaning
from pilothouse.types.memories import FoundBy, Memory, MemoryMatch, MemoryRecords, MemorySearch, MemoryWords
from pilothouse.types.ranking import fused

# Of the words that are looked for, this share must be there; one of them at least.
_SHARE = 1 / 3


class MemorySearcher:
    """Searches one owner's memories, in the scopes that whoever asks may see."""

    def __init__(self, kept: MemoryRecords, meaning: Meaning) -> None:
        self._kept = kept
        self.meaning = meaning

    async def search(self, owner: str, wanted: MemoryWords, *, any_words: bool = False) -> MemorySearch:
        """Return what fits, best first; `any_words` also finds what has only one of many words."""
        query = wanted.query[: limits.MEMORY_QUERY_CHARS].strip()
        words = texts.words_of(query)
        by_words, near = await asyncio.gather(
            self._kept.find_memories(owner, words, wanted.scopes, limits.MEMORY_CANDIDATES),
            self.meaning.near(query, "memory", owner, wanted.scopes, limits.MEMORY_CANDIDATES),
        )
        least = 1 if any_words else math.ceil(len(words) * _SHARE)
        named = {one.key: one for one in by_words if texts.has_words(words, _whole(one)) >= least}
        likeness = {one.key: one.likeness for one in near or ()}
        meant = {key: alike for key, alike in likeness.items() if alike >= wanted.likeness}
        # Whatever finds by meaning, the database has the last word about whose it is and who sees it.
        found = named | await self._kept.memories_by_key(
            owner, [key for key in meant if key not in named], wanted.scopes
        )
        ranked = [key for key in fused(named, meant) if key in found][: min(wanted.most, limits.MEMORY_HITS)]
        return MemorySearch(
            query=query,
            matches=tuple(
                MemoryMatch(memory=found[key], likeness=likeness.get(key), found_by=_by(key in named, key in meant))
                for key in ranked
            ),
            by_meaning=near is not None,
            meaning_note="" if near is not None else (await self.meaning.view()).message,
        )


def _whole(memory: Memory) -> str:
    return f"{memory.title} {memory.text}"


def _by(words: bool, meaning: bool) -> FoundBy:
    if words and meaning:
        return "both"
    return "words" if words else "meaning"
