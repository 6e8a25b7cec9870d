"""Web sites on loopback that a host may read because its settings say so, and the calls of a model that reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from pilothouse.types.api import ConfigPatch
from tests.support.chatting import ME, Chat
from tests.support.tiny_http import Answer, Request, TinyHttp

HTML = {"content-type": "text/html; charset=utf-8"}


def site(pages: Mapping[str, Answer | str]) -> TinyHttp:
    """Return a site that has these pages by path."""

    def answer(request: Request) -> Answer:
        found = pages.get(request.target.partition("?")[0], Answer(404))
        return Answer(200, found.encode(), HTML) if isinstance(found, str) else found

    return TinyHttp(answer)


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
