"""The kept lists of what the configured providers offer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec

from pilothouse.models.catalogue import ModelCatalogue
from pilothouse.models.listing import has_list, offered
from pilothouse.models.providers import LOCAL, address_of
from pilothouse.types import limits
from pilothouse.types.api import Catalogue, CatalogueEntry
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject, convert
from pilothouse.types.models import ModelConfig
from pilothouse.types.ports import JsonStore

# A provider, as the lists know it: its kind and its address.
_Place = tuple[str, str]


def no_offers() -> JsonObject:
    """Return what a new `cache/models.json` holds."""
    return {"refreshedAt": None, "entries": [], "problems": []}


def parse_offers(raw: JsonObject) -> Catalogue:
    """Return the content of `cache/models.json`."""
    return convert(no_offers() | raw, Catalogue)


class Offers:
    """What the configured providers offer, asked for when the person says so and kept in the cache."""

    def __init__(
        self,
        file: JsonStore[Catalogue],
        models: ModelCatalogue,
        *,
        timeout: float = limits.MODEL_LIST_TIMEOUT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._file = file
        self._models = models
        self._timeout = timeout
        self._clock = clock

    async def kept(self) -> Catalogue:
        """Return the lists as they were last told."""
        return self._file.value

    async def refresh(self) -> Catalogue:
        """Ask every configured provider at once; the old list of one that does not answer stays."""
        places: dict[_Place, ModelConfig] = {}
        for config in await self._models.configs():
            if config.provider not in LOCAL and has_list(config):
                places.setdefault((config.provider, address_of(config)), config)
        answers = await asyncio.gather(*(self._ask(config) for config in places.values()))
        before = self._file.value.entries
        entries: list[CatalogueEntry] = []
        for (provider, address), names in zip(places, answers, strict=True):
            if isinstance(names, str):
                entries += (entry for entry in before if (entry.provider, entry.base_url) == (provider, address))
            else:
                entries += (CatalogueEntry(provider=provider, base_url=address, model=name) for name in names)
        problems = tuple(dict.fromkeys(answer for answer in answers if isinstance(answer, str)))
        told = Catalogue(refreshed_at=self._clock(), entries=tuple(entries), problems=problems)
        return await asyncio.to_thread(self._file.update, lambda raw: raw.update(msgspec.to_builtins(told)))

    async def _ask(self, config: ModelConfig) -> tuple[str, ...] | str:
        """Return the offered names, or one sentence that says why there are none."""
        try:
            key = await asyncio.to_thread(self._models.key_for, config)
            return await offered(config, key, timeout=self._timeout)
        except PilothouseError as error:
            return str(error)
