"""The verbs about memories: a part of `types/host`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from pilothouse.types import limits
from pilothouse.types.exchange import Download
from pilothouse.types.memories import (
    Memory,
    MemoryCollections,
    MemoryFilter,
    MemoryFormat,
    MemoryKept,
    MemoryMerge,
    MemoryPage,
    MemoryPatch,
    MemorySearch,
    NewMemory,
)
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.verbs import Options, Service, verb

ALL = MemoryFilter()


class Memories(Service):
    """What is remembered; the fixed paths come before `{id}`, as the first match wins."""

    @verb("list_memories", "GET", "/api/memories")
    async def list(self, owner: str, wanted: MemoryFilter = ALL, page: Page = FIRST) -> MemoryPage:
        """Memories, the newest first: all, or those of one kind of place or of one place."""

    @verb("add_memory", "POST", "/api/memories", Options(status=201))
    async def create(self, owner: str, body: NewMemory) -> MemoryKept:
        """Remember something; what is known already is told and not kept twice."""

    @verb("search_memories", "GET", "/api/memories/search")
    async def search(
        self,
        owner: str,
        q: Annotated[str, Meta(max_length=limits.MEMORY_QUERY_CHARS)],
        wanted: MemoryFilter = ALL,
        likeness: Annotated[float, Meta(ge=0, le=1)] | None = None,
    ) -> MemorySearch:
        """Search memories by words and by meaning, best first."""

    @verb("memory_collections", "GET", "/api/memories/collections")
    async def collections(self, owner: str) -> MemoryCollections:
        """What is remembered where, counted."""

    @verb("export_memories", "GET", "/api/memories/export")
    async def export(self, owner: str, format_: MemoryFormat = "json") -> Download:
        """All memories as a file: JSON, or Markdown for people."""

    @verb("merge_memories", "POST", "/api/memories/merge")
    async def merge(self, owner: str, body: MemoryMerge) -> Memory:
        """Make one memory of several; those are forgotten, and can be brought back."""

    @verb("get_memory", "GET", "/api/memories/{id}")
    async def get(self, owner: str, memory_id: str) -> Memory:
        """One memory, by its id or the last letters of it."""

    @verb("update_memory", "PATCH", "/api/memories/{id}")
    async def update(self, owner: str, memory_id: str, body: MemoryPatch) -> Memory:
        """Change a memory; an absent field stays."""

    @verb("forget_memory", "DELETE", "/api/memories/{id}")
    async def forget(self, owner: str, memory_id: str) -> Memory:
        """Forget a memory; for a month it can be brought back."""

    @verb("restore_memory", "POST", "/api/memories/{id}/restore")
    async def restore(self, owner: str, memory_id: str) -> Memory:
        """Remember a forgotten memory again."""
