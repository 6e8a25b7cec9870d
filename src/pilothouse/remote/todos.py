"""The todos in a running server's core."""

from __future__ import annotations

from pilothouse.remote.calling import Calling, at
from pilothouse.types.todos import TodoInput, TodoList


class RemoteTodos:
    """The part of `ClientApi` that is about todos, over HTTP."""

    _calling: Calling

    async def todos(self, owner: str, conversation_id: str) -> TodoList:
        """Return a conversation's todos."""
        return await self._calling.ask("GET", at("conversations", conversation_id, "todos"), TodoList)

    async def put_todos(self, owner: str, conversation_id: str, body: TodoInput) -> TodoList:
        """Replace a conversation's todos."""
        return await self._calling.ask("PUT", at("conversations", conversation_id, "todos"), TodoList, body=body)
