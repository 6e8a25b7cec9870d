"""The configured models, as people change and try them, and what could be added."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from pilothouse.models.catalogue import ModelCatalogue
from pilothouse.types.api import Catalogue, FoundModels, ModelInput
from pilothouse.types.host import Models
from pilothouse.types.lazy import Lazy
from pilothouse.types.models import ModelList, ModelTest, ModelView

if TYPE_CHECKING:
    from pilothouse.models.refresh import Offers


class ModelService(Models):
    """Changes models; who wants to know is told."""

    def __init__(self, models: ModelCatalogue, offers: Lazy[Offers], changed: Callable[[], Awaitable[None]]) -> None:
        self._models = models
        self._offers = offers
        self._changed = changed

    async def list(self, owner: str) -> ModelList:
        return await self._models.list()

    async def add(self, owner: str, body: ModelInput) -> ModelView:
        view = await self._models.add(body)
        await self._changed()
        return view

    async def update(self, owner: str, model_id: str, body: ModelInput) -> ModelView:
        view = await self._models.update(model_id, body)
        await self._changed()
        return view

    async def delete(self, owner: str, model_id: str) -> None:
        await self._models.delete(model_id)
        await self._changed()

    async def set_default(self, owner: str, model_id: str) -> ModelList:
        models = await self._models.set_default(model_id)
        await self._changed()
        return models

    async def confirm_key(self, owner: str, model_id: str) -> ModelView:
        view = await self._models.confirm_key(model_id)
        await self._changed()
        return view

    async def forget(self, owner: str, model_id: str) -> ModelView:
        # Whoever remembers tells that, too.
        return await self._models.forget(model_id)

    async def test(self, owner: str, model_id: str) -> ModelTest:
        return await self._models.test(model_id)

    async def test_draft(self, owner: str, body: ModelInput) -> ModelTest:
        return await self._models.test_draft(body)

    async def about(self, owner: str, body: ModelInput) -> ModelView:
        return await self._models.about(body)

    async def found(self, owner: str, host: str = "") -> FoundModels:
        # Looked for when a person adds a model, and never else.
        from pilothouse.models.discovery import find_models  # noqa: PLC0415
        from pilothouse.models.host_discovery import find_at  # noqa: PLC0415

        if host.strip():
            return await find_at(host, await self._models.configs())
        return FoundModels(found=await find_models(await self._models.configs()))

    async def catalogue(self, owner: str) -> Catalogue:
        return await self._offers().kept()

    async def refresh(self, owner: str) -> Catalogue:
        return await self._offers().refresh()
