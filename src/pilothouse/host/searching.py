"""Finding conversations: what has the words first, then what means about the same in other words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from pilothouse.types import limits
from pilothouse.types.api import SearchHit, SearchResult
from pilothouse.types.meaning import Meaning
from pilothouse.types.records import Records


async def search(records: Records, meaning: Meaning, owner: str, query: str, limit: int) -> SearchResult:
    """Return what has the words, and in the room that is left what is similar."""
    found = await records.search(owner, query, limit)
    seen = {hit.item_id for hit in found.hits}
    alike = [item_id for item_id in await _alike(meaning, owner, query) if item_id not in seen]
    if not alike or len(found.hits) >= limit:
        return found
    similar = await records.similar(owner, alike, query)
    return msgspec.structs.replace(found, hits=_together(found.hits, similar, limit))


async def _alike(meaning: Meaning, owner: str, query: str) -> list[str]:
    """Return the items that mean about the same; what was only begun to be typed means nothing yet."""
    text = query.replace("\x00", " ").strip()
    if not meaning.is_there or len(text) < limits.MEANING_LEAST_CHARS:
        return []
    try:
        async with asyncio.timeout(limits.MEANING_MESSAGE_TIME):
            near = await meaning.near(text, "message", owner, None, limits.MEANING_MESSAGES)
    except TimeoutError:
        return []
    return [each.key for each in near or () if each.likeness >= limits.MEANING_MESSAGE_LIKENESS]


def _together(found: Sequence[SearchHit], similar: Sequence[SearchHit], limit: int) -> tuple[SearchHit, ...]:
    """Return all hits, those of one conversation together: the ones with the words first, and none of them left out."""
    groups: dict[str, list[SearchHit]] = {}
    for hit in found:
        groups.setdefault(hit.conversation_id, []).append(hit)
    room = limit - len(found)
    for hit in similar:
        group = groups.setdefault(hit.conversation_id, [])
        if room > 0 and len(group) < limits.SEARCH_HITS_EACH:
            here = group[0].found_here + 1 if group else 1
            group.append(hit)
            group[:] = [msgspec.structs.replace(each, found_here=here) for each in group]
            room -= 1
    return tuple(hit for group in groups.values() for hit in group)
