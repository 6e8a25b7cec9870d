"""What people may change beside conversations: the models and the settings."""

from __future__ import annotations

from typing import Protocol

from pilothouse.types.api import Catalogue, ConfigPatch, ConfigView, FoundModels, ModelInput
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.models import ModelList, ModelTest, ModelView
from pilothouse.types.ports import ModelSource


class ModelAdmin(ModelSource, Protocol):
    """The configured models, and changes to them."""

    async def list(self) -> ModelList:
        """Return all models."""
        ...

    async def add(self, body: ModelInput) -> ModelView:
        """Add a model."""
        ...

    async def update(self, model_id: str, body: ModelInput) -> ModelView:
        """Replace a model's configuration."""
        ...

    async def delete(self, model_id: str) -> None:
        """Remove a model and its secret."""
        ...

    async def set_default(self, model_id: str) -> ModelList:
        """Make a model the default."""
        ...

    async def confirm_key(self, model_id: str) -> ModelView:
        """Bind a model's key to the origin its URL has now."""
        ...

    async def test(self, model_id: str) -> ModelTest:
        """Make a real, tiny request."""
        ...

    async def test_draft(self, body: ModelInput) -> ModelTest:
        """Make a real, tiny request to a model that is not saved."""
        ...


class ModelFinder(Protocol):
    """What could be added, and what the providers offer."""

    async def found(self) -> FoundModels:
        """Look for local servers and keys in the environment."""
        ...

    async def catalogue(self) -> Catalogue:
        """Return the kept lists of the providers' models."""
        ...

    async def refresh(self) -> Catalogue:
        """Ask the configured providers what they offer."""
        ...


class ConfigAdmin(Protocol):
    """The settings that are not models."""

    def view(self) -> ConfigView:
        """Return the settings."""
        ...

    async def patch(self, patch: ConfigPatch) -> ConfigView:
        """Change settings."""
        ...

    def new_conversation_settings(self) -> ConversationSettings:
        """Return what the active profile sets for new conversations."""
        ...
