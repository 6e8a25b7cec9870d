"""Registries as a person has them, without the rest of the program: a real file, real secrets, servers on loopback."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from pilothouse.mcp.packages.bundles import Bundles
from pilothouse.mcp.packages.tools import Tools
from pilothouse.mcp.registry.addresses import VARIABLE
from pilothouse.mcp.registry.book import RegistryBook
from pilothouse.mcp.registry.local_copy import LocalCopy
from pilothouse.mcp.registry.service import RegistryService
from pilothouse.net.loop_clients import close_clients
from pilothouse.secrets.store import SecretStore
from pilothouse.settings.config import ConfigService
from pilothouse.settings.home import open_home
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.registries import FoundServers, RegistryView
from tests.support.registry_server import Json, OfficialServer, SmitheryServer, registry_addresses
from tests.support.waiting import eventually

# Nothing listens there.
NOWHERE = "http://127.0.0.1:9"


class Finder(NamedTuple):
    """The service, and what it stands on."""

    service: RegistryService
    copy: LocalCopy
    secrets: SecretStore
    config: ConfigService

    async def search(self, words: str, registry: str = "all") -> FoundServers:
        return await self.service.search(ME, words, registry)

    async def names(self, words: str, registry: str = "all") -> list[str]:
        return [each.name for each in (await self.search(words, registry)).servers]

    async def view(self, registry: str) -> RegistryView:
        return next(each for each in (await self.service.list(ME)).registries if each.id == registry)

    async def copied(self, registry: str = "official") -> RegistryView:
        """Wait until the whole of a registry is here."""

        async def look() -> RegistryView | None:
            view = await self.view(registry)
            return view if view.copied_at else None

        return await eventually(look, f"the copy of {registry}")

    def age(self, registry: str = "official", seconds: float = 2 * 3600) -> None:
        """Make the copy of a registry older than it is."""
        then = time.time() - seconds
        self.copy.work(
            lambda file: file.execute(
                "UPDATE registry SET copied_at = ?, heard_at = ? WHERE id = ?", (then, then, registry)
            )
        )
        self.copy.work(
            lambda file: file.execute(
                "UPDATE server SET seen_at = ?, details_at = ? WHERE registry = ?", (then, then, registry)
            )
        )
        self.copy.work(lambda file: file.execute("UPDATE asked SET at = ? WHERE registry = ?", (then, registry)))


@asynccontextmanager
async def open_finder(home: Path) -> AsyncIterator[Finder]:
    """Open the registries of a data folder."""
    folder = open_home(home)
    config, secrets = ConfigService(folder.path, "sqlite"), SecretStore(folder.secrets)
    copy = LocalCopy(folder.cache / "registries.sqlite")
    bundles = Bundles(folder.cache / "bundles", Tools())
    book = RegistryBook(config.file, lambda: config.config.registries, secrets)
    service = RegistryService(book, copy, lambda: bundles)
    try:
        yield Finder(service, copy, secrets, config)
    finally:
        await service.close()
        await close_clients()


class Both(NamedTuple):
    """Both registries on loopback, and a finder that knows where they are."""

    official: OfficialServer
    smithery: SmitheryServer
    finder: Finder


@asynccontextmanager
async def open_registries(
    home: Path, patch: pytest.MonkeyPatch, official: list[Json] | None = None, smithery: list[Json] | None = None
) -> AsyncIterator[Both]:
    """Serve both registries and search in them."""
    async with OfficialServer(official or ()) as one, SmitheryServer(smithery or ()) as other:
        patch.setenv(VARIABLE, registry_addresses(official=one, smithery=other))
        async with open_finder(home) as finder:
            yield Both(one, other, finder)
