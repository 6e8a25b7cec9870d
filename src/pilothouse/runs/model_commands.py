"""Commands about the models and the settings."""

from __future__ import annotations

from pilothouse.runs.admins import Admins
from pilothouse.runs.feed import Feed
from pilothouse.types.api import Catalogue, ConfigPatch, ConfigView, FoundModels, ModelInput, ModelsFrame
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.models import ModelList, ModelTest, ModelView


class ModelCommands:
    """The part of the core that changes models and settings; every page is told."""

    def __init__(self, admins: Admins, feed: Feed) -> None:
        self._models = admins.models
        self._finder = admins.finder
        self._config = admins.config
        self._pages = feed

    async def models(self, owner: str) -> ModelList:
        """Return all models."""
        return await self._models.list()

    async def add_model(self, owner: str, body: ModelInput) -> ModelView:
        """Add a model."""
        view = await self._models.add(body)
        await self.models_changed()
        return view

    async def update_model(self, owner: str, model_id: str, body: ModelInput) -> ModelView:
        """Replace a model's configuration."""
        view = await self._models.update(model_id, body)
        await self.models_changed()
        return view

    async def delete_model(self, owner: str, model_id: str) -> None:
        """Remove a model and the secret that was kept for it."""
        await self._models.delete(model_id)
        await self.models_changed()

    async def set_default_model(self, owner: str, model_id: str) -> ModelList:
        """Make a model the default."""
        models = await self._models.set_default(model_id)
        await self.models_changed()
        return models

    async def confirm_key(self, owner: str, model_id: str) -> ModelView:
        """Bind a model's key to the origin that its URL has now."""
        view = await self._models.confirm_key(model_id)
        await self.models_changed()
        return view

    async def models_changed(self) -> None:
        """Tell every page what the models are now."""
        self._pages.tell(ModelsFrame(models=await self._models.list()))

    async def test_model(self, owner: str, model_id: str) -> ModelTest:
        """Make a real, tiny request to a model."""
        return await self._models.test(model_id)

    async def test_draft(self, owner: str, body: ModelInput) -> ModelTest:
        """Make a real, tiny request to a model that is not saved."""
        return await self._models.test_draft(body)

    async def found_models(self, owner: str, host: str = "") -> FoundModels:
        """Look for local model servers and for keys in the environment; or on a host that a person named."""
        return await self._finder.found(host)

    async def catalogue(self, owner: str) -> Catalogue:
        """Return the kept lists of what the providers offer."""
        return await self._finder.catalogue()

    async def refresh_catalogue(self, owner: str) -> Catalogue:
        """Ask the configured providers what they offer."""
        return await self._finder.refresh()

    async def config(self, owner: str) -> ConfigView:
        """Return the settings."""
        return self._config.view()

    async def usual_settings(self, owner: str) -> ConversationSettings:
        """Return what the active profile sets for new conversations."""
        return self._config.new_conversation_settings()

    async def update_config(self, owner: str, body: ConfigPatch) -> ConfigView:
        """Change settings."""
        return await self._config.patch(body, owner)
