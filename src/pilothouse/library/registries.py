"""Registries of MCP servers, for programs."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.proposals import Recognised
from pilothouse.types.registries import FoundServers, RegistryInput, RegistryKey, RegistryView


class Registries:
    """Registries of MCP servers; each is named by its id or its name."""

    def __init__(self, api: ClientApi) -> None:
        self._api = api

    async def list(self) -> Sequence[RegistryView]:
        """Return all registries, the official one first."""
        return (await self._api.registries.list(LOCAL_OWNER)).registries

    async def search(self, words: str, registry: str = "all") -> FoundServers:
        """Return the servers that fit, the best first, and what is to be said about the search."""
        return await self._api.registries.search(LOCAL_OWNER, words, registry)

    async def proposals(self, registry: str, name: str) -> Recognised:
        """Return how a server that was found could be added; nothing is added."""
        return await self._api.registries.proposals(LOCAL_OWNER, registry, name)

    async def add(self, url: str, name: str = "") -> Sequence[RegistryView]:
        """Add a registry that has the API of the official one."""
        return (await self._api.registries.add(LOCAL_OWNER, RegistryInput(url=url, name=name))).registries

    async def remove(self, registry: str) -> None:
        """Remove a registry that was added, with its copy and its key."""
        await self._api.registries.remove(LOCAL_OWNER, registry)

    async def set_key(self, registry: str, key: str | None) -> None:
        """Keep a key for a registry that wants one, or take it away."""
        await self._api.registries.set_key(LOCAL_OWNER, registry, RegistryKey(value=key))
