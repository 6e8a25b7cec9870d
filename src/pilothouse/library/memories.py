"""What is remembered, for programs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.memories import (
    Memory,
    MemoryCollections,
    MemoryFilter,
    MemoryFormat,
    MemoryKept,
    MemoryMatch,
    MemoryMerge,
    MemoryPatch,
    NewMemory,
)
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.scopes import EVERYWHERE, Scope


class Memories:
    """Memories; each is named by its key, or the last letters of it."""

    def __init__(self, api: ClientApi) -> None:
        self._api = api

    async def list(self, scope: Scope | None = None, *, forgotten: bool = False) -> AsyncIterator[Memory]:
        """Yield what is remembered, the newest first: all, or what is seen in one place."""
        wanted, page = _filter(scope, forgotten), FIRST
        while True:
            found = await self._api.memories.list(LOCAL_OWNER, wanted, page)
            for memory in found.memories:
                yield memory
            if found.next is None:
                return
            page = Page(cursor=found.next)

    async def search(self, words: str, scope: Scope | None = None) -> Sequence[MemoryMatch]:
        """Return what fits by words and by meaning, the best first."""
        return (await self._api.memories.search(LOCAL_OWNER, words, _filter(scope, False))).matches

    async def add(
        self, text: str, *, title: str = "", tags: Sequence[str] = (), scope: Scope = EVERYWHERE
    ) -> MemoryKept:
        """Remember something; what is known already is told and not kept twice."""
        body = NewMemory(text=text, title=title, tags=tuple(tags), scope=scope)
        return await self._api.memories.create(LOCAL_OWNER, body)

    async def update(self, key: str, patch: MemoryPatch) -> Memory:
        """Change a memory; what the patch does not name stays."""
        return await self._api.memories.update(LOCAL_OWNER, key, patch)

    async def merge(self, keys: Sequence[str], *, title: str = "", text: str = "") -> Memory:
        """Make one memory of several."""
        return await self._api.memories.merge(LOCAL_OWNER, MemoryMerge(keys=tuple(keys), title=title, text=text))

    async def forget(self, key: str) -> Memory:
        """Forget a memory; for a month it can be brought back."""
        return await self._api.memories.forget(LOCAL_OWNER, key)

    async def restore(self, key: str) -> Memory:
        """Remember a forgotten memory again."""
        return await self._api.memories.restore(LOCAL_OWNER, key)

    async def collections(self) -> MemoryCollections:
        """Return how much is remembered where."""
        return await self._api.memories.collections(LOCAL_OWNER)

    async def export(self, format_: MemoryFormat = "json") -> bytes:
        """Return everything that is remembered as a file."""
        file = await self._api.memories.export(LOCAL_OWNER, format_)
        return b"".join([chunk async for chunk in file.chunks])


def _filter(scope: Scope | None, forgotten: bool) -> MemoryFilter:
    return MemoryFilter(scope.kind, scope.id, forgotten) if scope is not None else MemoryFilter(forgotten=forgotten)
