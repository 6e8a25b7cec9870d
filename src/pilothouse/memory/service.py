"""Memories as people see and change them: implements the verbs."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime

from pilothouse.memory.keeping import Keeper
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.exchange import Download
from pilothouse.types.host_memories import ALL, Memories
from pilothouse.types.json import encode
from pilothouse.types.memories import (
    Memory,
    MemoryCollections,
    MemoryDraft,
    MemoryFilter,
    MemoryFormat,
    MemoryKept,
    MemoryMerge,
    MemoryPage,
    MemoryPatch,
    MemoryRecords,
    MemorySearch,
    MemoryWords,
    NewMemory,
)
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.scopes import Scope
from pilothouse.types.settings import Settings

_SAID_BY = {"person": "you", "agent": "the agent", "stranger": "the agent, perhaps in a stranger's words"}
_PLACES = {"conversation": "In a conversation", "topic": "In a topic", "folder": "In a folder"}


class MemoryService(Memories):
    """What is remembered, for its owner."""

    def __init__(self, kept: MemoryRecords, keeper: Keeper, settings: Callable[[], Settings]) -> None:
        self._kept = kept
        self._keeper = keeper
        self._settings = settings

    async def list(self, owner: str, wanted: MemoryFilter = ALL, page: Page = FIRST) -> MemoryPage:
        return await self._kept.memories(owner, wanted, page)

    async def create(self, owner: str, body: NewMemory) -> MemoryKept:
        draft = MemoryDraft(body.text, body.title, body.tags, body.scope, says="person")
        return await self._keeper.keep(owner, draft)

    async def search(
        self, owner: str, q: str, wanted: MemoryFilter = ALL, likeness: float | None = None
    ) -> MemorySearch:
        if wanted.forgotten:
            raise PilothouseError("bad_request", "What is forgotten is listed, not searched.")
        least = self._settings().memory_likeness if likeness is None else likeness
        scopes = await self._scopes(owner, wanted)
        return await self._keeper.search(owner, MemoryWords(q, scopes, least, limits.MEMORY_HITS))

    async def _scopes(self, owner: str, wanted: MemoryFilter) -> tuple[Scope, ...] | None:
        """Return the places that are meant; None for all."""
        if wanted.kind is None:
            return None
        if wanted.scope or wanted.kind == "everywhere":
            return (Scope(kind=wanted.kind, id=wanted.scope),)
        found = (await self._keeper.collections(owner)).collections
        return tuple(each.scope for each in found if each.scope.kind == wanted.kind)

    async def collections(self, owner: str) -> MemoryCollections:
        return await self._keeper.collections(owner)

    async def export(self, owner: str, format_: MemoryFormat = "json") -> Download:
        day = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%d")
        chunks = self._as_json(owner) if format_ == "json" else self._as_markdown(owner)
        return Download(name=f"memories-{day}.{'json' if format_ == 'json' else 'md'}", chunks=chunks)

    async def _each(self, owner: str) -> AsyncGenerator[Memory, None]:
        page = FIRST
        while True:
            found = await self._kept.memories(owner, ALL, page)
            for memory in found.memories:
                yield memory
            if found.next is None:
                return
            page = Page(cursor=found.next)

    async def _as_json(self, owner: str) -> AsyncGenerator[bytes, None]:
        yield b'{"memories":['
        first = True
        async for memory in self._each(owner):
            yield (b"" if first else b",\n") + encode(memory)
            first = False
        yield b"]}\n"

    async def _as_markdown(self, owner: str) -> AsyncGenerator[bytes, None]:
        yield b"# Memories\n"
        async for memory in self._each(owner):
            yield _section(memory).encode()

    async def merge(self, owner: str, body: MemoryMerge) -> Memory:
        return await self._keeper.merge(owner, body)

    async def get(self, owner: str, memory_id: str) -> Memory:
        return await self._keeper.get(owner, memory_id)

    async def update(self, owner: str, memory_id: str, body: MemoryPatch) -> Memory:
        return await self._keeper.change(owner, memory_id, body)

    async def forget(self, owner: str, memory_id: str) -> Memory:
        gone = await self._keeper.forget(owner, memory_id)
        await self._keeper.told(owner, gone)
        return gone

    async def restore(self, owner: str, memory_id: str) -> Memory:
        return await self._keeper.restore(owner, memory_id)


def _section(memory: Memory) -> str:
    day = datetime.fromtimestamp(memory.updated_at, UTC).strftime("%Y-%m-%d")
    where = f"{_PLACES[memory.scope.kind]}: `{memory.scope.id}`" if memory.scope.id else "Everywhere"
    tags = f" · {', '.join(memory.tags)}" if memory.tags else ""
    return f"\n## {memory.title}\n\n{memory.text}\n\n_{where} · by {_SAID_BY[memory.says]} · {day}{tags}_\n"
