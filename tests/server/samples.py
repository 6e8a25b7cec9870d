"""A well-formed request for every route of the table."""

from __future__ import annotations

from typing import Any

from pilothouse.server.routing import AnyRoute
from pilothouse.types.api import (
    Answer,
    ConfigPatch,
    ConversationPatch,
    ModelInput,
    NewConversation,
    NewMessage,
    SessionRequest,
)

BODIES: dict[type, dict[str, Any]] = {
    SessionRequest: {"code": "not-a-code"},
    NewConversation: {"title": "Hello"},
    ConversationPatch: {"title": "Renamed"},
    NewMessage: {"text": "Hello"},
    Answer: {"choice": "yes"},
    ModelInput: {"name": "Scripted", "provider": "scripted", "model": "script.json"},
    ConfigPatch: {"globalHotkey": "F1"},
}
QUERIES = {"/api/search": {"q": "hello"}}


def request_for(route: AnyRoute, item_id: str = "c_unknown") -> dict[str, Any]:
    """Return the arguments of a client's `request` for a route."""
    request: dict[str, Any] = {"method": route.method, "url": route.path.replace("{id}", item_id)}
    if route.body is not type(None):
        request["json"] = BODIES[route.body]
    if route.path in QUERIES:
        request["params"] = QUERIES[route.path]
    return request
