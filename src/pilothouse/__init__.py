"""Pilothouse: an agent host that you own."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

# Imported when first used: `import pilothouse` alone costs nothing.
if TYPE_CHECKING:
    from pilothouse.library import Host
    from pilothouse.library.answers import Answer
    from pilothouse.library.chats import Chat, Tools
    from pilothouse.library.models import Models
    from pilothouse.library.registries import Registries
    from pilothouse.library.replays import Replay
    from pilothouse.library.servers import Servers
    from pilothouse.types.api import ImageInput, ModelInput
    from pilothouse.types.conversations import Conversation, ConversationSettings
    from pilothouse.types.errors import PilothouseError
    from pilothouse.types.events import (
        ConversationUpdated,
        Event,
        ItemCompleted,
        ItemCreated,
        ItemDelta,
        ItemUpdated,
        RunUpdated,
    )
    from pilothouse.types.items import Item
    from pilothouse.types.servers import ServerInput
    from pilothouse.types.sources import Source

__all__ = [
    "Answer",
    "Chat",
    "Conversation",
    "ConversationSettings",
    "ConversationUpdated",
    "Event",
    "Host",
    "ImageInput",
    "Item",
    "ItemCompleted",
    "ItemCreated",
    "ItemDelta",
    "ItemUpdated",
    "ModelInput",
    "Models",
    "PilothouseError",
    "Registries",
    "Replay",
    "RunUpdated",
    "ServerInput",
    "Servers",
    "Source",
    "Tools",
    "__version__",
]

_HOMES = {
    "library": ("Host",),
    "library.answers": ("Answer",),
    "library.chats": ("Chat", "Tools"),
    "library.models": ("Models",),
    "library.registries": ("Registries",),
    "library.replays": ("Replay",),
    "library.servers": ("Servers",),
    "types.api": ("ImageInput", "ModelInput"),
    "types.conversations": ("Conversation", "ConversationSettings"),
    "types.errors": ("PilothouseError",),
    "types.events": (
        "ConversationUpdated",
        "Event",
        "ItemCompleted",
        "ItemCreated",
        "ItemDelta",
        "ItemUpdated",
        "RunUpdated",
    ),
    "types.item_data": ("Source",),
    "types.items": ("Item",),
    "types.servers": ("ServerInput",),
}


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"pilothouse.{home}"), name)
    raise AttributeError(f"module 'pilothouse' has no attribute {name!r}")
