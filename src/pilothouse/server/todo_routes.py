"""The todos of a conversation, over HTTP."""

from __future__ import annotations

from pilothouse.server.routing import AnyRoute, Call, NoQuery, Route
from pilothouse.types.todos import TodoInput, TodoList


async def get_todos(call: Call[None, NoQuery]) -> TodoList:
    """Return them."""
    return await call.host.todos(call.owner, call.id)


async def put_todos(call: Call[TodoInput, NoQuery]) -> TodoList:
    """Replace them."""
    return await call.host.put_todos(call.owner, call.id, call.body)


TODO_ROUTES: tuple[AnyRoute, ...] = (
    Route(
        method="GET",
        path="/api/conversations/{id}/todos",
        handler=get_todos,
        reply=TodoList,
        summary="What the agent has to do in a conversation, and how far it is.",
    ),
    Route(
        method="PUT",
        path="/api/conversations/{id}/todos",
        handler=put_todos,
        body=TodoInput,
        reply=TodoList,
        summary="Replace the todos of a conversation, held to the same rules as the agent's own.",
    ),
)
