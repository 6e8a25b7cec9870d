"""The two ways in which registries answer: the official API, which companies have too, and Smithery's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol
from urllib.parse import quote

import msgspec

from pilothouse.mcp.registry import entries
from pilothouse.mcp.registry.asking import Answered, RegistryTrouble, ask
from pilothouse.mcp.registry.entries import Entry
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, an_object
from pilothouse.types.registries import RegistryKind


class Page(msgspec.Struct, frozen=True):
    """Entries of a registry, and where the next ones are; the clock is the registry's own."""

    entries: tuple[Entry, ...]
    following: str = ""
    clock: float = 0.0


class RegistryClient(Protocol):
    """Asks one registry; raises RegistryTrouble."""

    async def search(self, words: tuple[str, ...]) -> tuple[Entry, ...]:
        """Return what the registry itself finds."""

    async def details(self, name: str) -> JsonObject:
        """Return what it says about one server."""


class OfficialClient:
    """The API of the official registry, at any address."""

    def __init__(self, url: str, key: str = "") -> None:
        self._list = f"{url}/v0.1/servers"
        self._key = key

    async def page(self, cursor: str, since: str, limit: int = limits.REGISTRY_PAGE) -> Page:
        """Return a page of the newest versions of all servers, or of those that changed since a time."""
        query: Mapping[str, str | int] = {"limit": limit, "cursor": cursor, "version": "latest", "updated_since": since}
        answered = await ask(self._list, query, self._key)
        found = await _read(answered, entries.official)
        return Page(found, _following(answered), answered.clock)

    async def search(self, words: tuple[str, ...]) -> tuple[Entry, ...]:
        # It looks for the text as a whole, in names only: so each word is asked for.
        asked = sorted(words, key=len, reverse=True)[:_WORDS_ASKED]
        pages = await asyncio.gather(*(self._named(word) for word in asked))
        return tuple({entry.name: entry for page in pages for entry in page}.values())

    async def _named(self, word: str) -> tuple[Entry, ...]:
        query: Mapping[str, str | int] = {"search": word, "limit": limits.REGISTRY_LIVE_PAGE, "version": "latest"}
        return await _read(await ask(self._list, query, self._key), entries.official)

    async def details(self, name: str) -> JsonObject:
        return (await ask(f"{self._list}/{quote(name, safe='')}/versions/latest", {}, self._key)).content


class SmitheryClient:
    """Smithery's API."""

    def __init__(self, url: str, key: str = "") -> None:
        self._list = f"{url}/servers"
        self._key = key

    async def search(self, words: tuple[str, ...]) -> tuple[Entry, ...]:
        query: Mapping[str, str | int] = {"q": " ".join(words), "page": 1, "pageSize": limits.REGISTRY_LIVE_PAGE}
        return await _read(await ask(self._list, query, self._key), entries.smithery)

    async def details(self, name: str) -> JsonObject:
        # Its names have a slash that parts owner and name, and belongs to the path.
        return (await ask(f"{self._list}/{quote(name, safe='@/')}", {}, self._key)).content


# Words that the official registry is asked for, one by one, at a search.
_WORDS_ASKED = 3


def client_of(kind: RegistryKind, url: str, key: str) -> RegistryClient:
    """Return who asks a registry."""
    return OfficialClient(url, key) if kind == "official" else SmitheryClient(url, key)


def _following(answered: Answered) -> str:
    metadata = an_object(answered.content.get("metadata"))
    # Registries of an earlier time write it with an underscore.
    following = metadata.get("nextCursor") or metadata.get("next_cursor")
    if not isinstance(following, str):
        return ""
    if len(following) > limits.REGISTRY_CURSOR_CHARS:
        raise RegistryTrouble("odd", "answered with a cursor that is longer than any")
    return following


async def _read(answered: Answered, read: Callable[[object], Entry | None]) -> tuple[Entry, ...]:
    listed = answered.content.get("servers")
    if not isinstance(listed, list):
        raise RegistryTrouble("odd", "answered with something that is no list of servers")
    return await asyncio.to_thread(_entries, listed[: limits.REGISTRY_PAGE], read)


def _entries(listed: Iterable[object], read: Callable[[object], Entry | None]) -> tuple[Entry, ...]:
    return tuple(entry for each in listed if (entry := read(each)) is not None)
