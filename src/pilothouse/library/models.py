"""The configured models, for programs."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.types.api import ModelInput
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.models import ModelTest, ModelView


class Models:
    """The configured models."""

    def __init__(self, api: ClientApi) -> None:
        self._api = api

    async def list(self) -> Sequence[ModelView]:
        """Return all models."""
        return (await self._api.models.list(LOCAL_OWNER)).models

    async def default(self) -> str | None:
        """Return the id of the default model."""
        return (await self._api.models.list(LOCAL_OWNER)).default_model_id

    async def add(self, model: ModelInput) -> ModelView:
        """Add a model; a key given with it is kept as a secret."""
        return await self._api.models.add(LOCAL_OWNER, model)

    async def remove(self, model_id: str) -> None:
        """Remove a model."""
        await self._api.models.delete(LOCAL_OWNER, model_id)

    async def set_default(self, model_id: str) -> None:
        """Make a model the default."""
        await self._api.models.set_default(LOCAL_OWNER, model_id)

    async def forget(self, model_id: str) -> ModelView:
        """Forget what was learned about a model from what its provider refused."""
        return await self._api.models.forget(LOCAL_OWNER, model_id)

    async def test(self, model_id: str) -> ModelTest:
        """Make a real, tiny request to a model."""
        return await self._api.models.test(LOCAL_OWNER, model_id)
