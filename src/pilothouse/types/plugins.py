"""What a package may add to the host, and how people see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from pilothouse.types.models import ModelConfig
from pilothouse.types.ports import Model, Tool
from pilothouse.types.todos import Reminders

# Makes a model that can be asked from its configuration and its key.
ModelMaker = Callable[[ModelConfig, str], Model]


class PluginContext(msgspec.Struct, frozen=True):
    """What a plugin is told about the host that it is part of."""

    version: str
    # A folder of its own, made when it first asks; it outlives restarts and updates.
    data_folder: Path


class Masker(Protocol):
    """Takes out of texts what nobody must see. One that raises withholds the text: better nothing than a secret."""

    @property
    def reach(self) -> int:
        """Return the length of the longest text it takes out."""

    def mask(self, text: str) -> str:
        """Return the text without it."""


class MaskerFailed(Exception):
    """A masker broke; what it should have looked at must not be shown."""


class Plugin(Protocol):
    """The hooks. A plugin is a module or an object that has at least one of them; the built-in parts have them too."""

    def pilothouse_tools(self, context: PluginContext) -> Iterable[Tool]:
        """Return tools; they go through the same checks and questions as all others."""

    def pilothouse_models(self, context: PluginContext) -> Mapping[str, ModelMaker]:
        """Return ways to make models by name; `models.json` names one as `"provider": "plugin", "model": "name/…"`."""

    def pilothouse_reminders(self, context: PluginContext) -> Iterable[Reminders]:
        """Return what models are to be reminded of."""

    def pilothouse_maskers(self, context: PluginContext) -> Iterable[Masker]:
        """Return what takes secrets out of results before anyone sees them."""
