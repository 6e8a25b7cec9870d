"""The index of a conversation's working directory, over HTTP."""

from __future__ import annotations

from pilothouse.server.routing import AnyRoute, Call, NoQuery, Route
from pilothouse.types.searching import IndexView


async def get_index(call: Call[None, NoQuery]) -> IndexView:
    """Return how it stands."""
    return await call.host.index(call.owner, call.id)


INDEX_ROUTES: tuple[AnyRoute, ...] = (
    Route(
        method="GET",
        path="/api/conversations/{id}/index",
        handler=get_index,
        reply=IndexView,
        summary="How the index of a conversation's working directory stands: what is in it, and how far it is.",
    ),
)
