"""The registries as a person asks for them."""

from __future__ import annotations

from pilothouse.types.errors import PilothouseError
from pilothouse.types.host_finding import Registries
from pilothouse.types.proposals import Recognised
from pilothouse.types.registries import FoundServers, RegistryInput, RegistryKey, RegistryList


class RegistryService(Registries):
    """Searches answer from the local copy where they can."""

    async def list(self, owner: str) -> RegistryList:
        raise PilothouseError("bad_request", "TODO")

    async def add(self, owner: str, body: RegistryInput) -> RegistryList:
        raise PilothouseError("bad_request", "TODO")

    async def search(self, owner: str, q: str, registry: str = "all") -> FoundServers:
        raise PilothouseError("bad_request", "TODO")

    async def remove(self, owner: str, registry_id: str) -> RegistryList:
        raise PilothouseError("bad_request", "TODO")

    async def set_key(self, owner: str, registry_id: str, body: RegistryKey) -> RegistryList:
        raise PilothouseError("bad_request", "TODO")

    async def proposals(self, owner: str, registry_id: str, name: str) -> Recognised:
        raise PilothouseError("bad_request", "TODO")
