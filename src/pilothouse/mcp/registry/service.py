"""The registries as a person asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pilothouse.mcp.proposals.downloads import KeepsBundles
from pilothouse.mcp.registry.asking import LOST_KEY, RegistryTrouble
from pilothouse.mcp.registry.book import ALL, Registry, RegistryBook
from pilothouse.mcp.registry.clients import OfficialClient
from pilothouse.mcp.registry.copying import Copying
from pilothouse.mcp.registry.local_copy import LocalCopy
from pilothouse.mcp.registry.notes import note
from pilothouse.mcp.registry.offers import Offers
from pilothouse.mcp.registry.searching import Search, search, words_of
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.host_finding import Registries
from pilothouse.types.proposals import Recognised
from pilothouse.types.registries import FoundServers, RegistryInput, RegistryKey, RegistryList, RegistryView


class RegistryService(Registries):
    """Searches answer from the local copy where they can; nothing is asked of anyone before someone searches."""

    def __init__(self, book: RegistryBook, copy: LocalCopy, bundles: Callable[[], KeepsBundles]) -> None:
        self._book = book
        self._copy = copy
        self._copying = Copying(book, copy)
        self._offers = Offers(book, copy, bundles)

    async def list(self, owner: str) -> RegistryList:
        return RegistryList(registries=tuple([await self._view(each) for each in self._book.all()]))

    async def add(self, owner: str, body: RegistryInput) -> RegistryList:
        _check_owner(owner)
        new = self._book.new(body.url, body.name)
        problem = await _answers(new)
        await self._book.add(new)
        await self._copying.state(new)
        if problem:
            await asyncio.to_thread(self._copy.note, new.id, new.url, problem=problem)
        return await self.list(owner)

    async def search(self, owner: str, q: str, registry: str = ALL) -> FoundServers:
        chosen = self._book.all() if registry == ALL else (self._book.get(registry),)
        words = _words(q)
        standings = await self._copying.hear(chosen, words)
        asked = Search(words, tuple(each.id for each in chosen))
        found = await asyncio.to_thread(search, self._copy, asked)
        self._copying.follow(standings)
        return FoundServers(
            servers=found.servers,
            total=found.total,
            notes=tuple(filter(None, map(note, standings))),
            key_wanted=tuple(each.registry.id for each in standings if each.wants_key),
        )

    async def remove(self, owner: str, registry_id: str) -> RegistryList:
        _check_owner(owner)
        registry = self._book.get(registry_id)
        if not registry.own:
            message = f"{registry.subject} is one that everyone has; only registries that you added are removed."
            raise PilothouseError("bad_request", message, fix="Search in another one alone.")
        await self._copying.stop(registry)
        await self._book.remove(registry)
        await asyncio.to_thread(self._copy.drop, registry.id)
        return await self.list(owner)

    async def set_key(self, owner: str, registry_id: str, body: RegistryKey) -> RegistryList:
        _check_owner(owner)
        registry = self._book.get(registry_id)
        await self._book.set_key(registry, body.value)
        # With another key it may answer.
        await self._copying.state(registry)
        await asyncio.to_thread(self._copy.note, registry.id, registry.url, problem="", rest_until=0.0)
        return await self.list(owner)

    async def proposals(self, owner: str, registry_id: str, name: str) -> Recognised:
        return await self._offers.of(self._book.get(registry_id), name)

    async def close(self) -> None:
        """End what goes on in the background."""
        await self._copying.close()

    async def _view(self, registry: Registry) -> RegistryView:
        state = await self._copying.state(registry)
        has_key = await asyncio.to_thread(self._book.has_key, registry)
        problem = LOST_KEY if has_key is None else state.problem
        return RegistryView(
            id=registry.id,
            name=registry.name,
            kind=registry.kind,
            url=registry.url,
            own=registry.own,
            servers=state.servers,
            copied_at=state.copied_at or None,
            has_key=bool(has_key),
            problem=f"{registry.subject} {problem}." if problem else "",
        )


def _check_owner(owner: str) -> None:
    """Whoever names a registry says which servers everyone here is shown: that is for the owner of this machine."""
    if owner != LOCAL_OWNER:
        message = "Only the owner of this installation may change its registries."
        raise PilothouseError("forbidden", message, fix="Ask them to do it.")


def _words(q: str) -> tuple[str, ...]:
    if len(q) > limits.REGISTRY_WORDS_CHARS:
        message = f"A search has at most {limits.REGISTRY_WORDS_CHARS} characters."
        raise PilothouseError("bad_request", message, fix="Use a few words.")
    words = words_of(q)
    if not words:
        raise PilothouseError("bad_request", "There is no word to search for.", fix="Type what the server is for.")
    return words


async def _answers(registry: Registry) -> str:
    """Ask an address whether it is a registry; return why it does not answer yet, raise `bad_request` if it is none."""
    try:
        await OfficialClient(registry.url).page("", "", 1)
    except RegistryTrouble as trouble:
        if trouble.why in ("key", "busy"):
            return trouble.words
        message = f"{registry.url} is no registry that can be searched: it {trouble.words}."
        raise PilothouseError("bad_request", message, fix="Check the address, and that it is up.") from None
    return ""
