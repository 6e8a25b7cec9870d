"""Settings that let a host read web sites on loopback, and the calls of a model that reads them."""

from __future__ import annotations

from typing import Any

import msgspec

from pilothouse.types.api import ConfigPatch
from tests.support.chats import ME, Chat
from tests.support.tiny_http import TinyHttp


def web_call(operation: str, **arguments: Any) -> dict[str, Any]:
    """Return a call of the tool that reads the web."""
    return {"call": "web_operations", "arguments": {"operation": operation, **arguments}}


async def set_web(chat: Chat, **settings: Any) -> None:
    """Change what is set about the web."""
    changes = msgspec.convert({"web": settings}, ConfigPatch)
    await chat.api.settings.update(ME, changes)


async def allow_sites(chat: Chat, *sites: TinyHttp) -> None:
    """Let pages be read from these."""
    await set_web(chat, ownAddresses=" ".join(f"127.0.0.1:{each.port}" for each in sites))
