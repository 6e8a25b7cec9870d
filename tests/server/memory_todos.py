"""Todos of the core that keeps everything in memory."""

from __future__ import annotations

from abc import abstractmethod

from pilothouse.types.conversations import Conversation
from pilothouse.types.todos import TodoInput, TodoList


class MemoryTodos:
    """The part of HostApi that is about todos."""

    def __init__(self) -> None:
        self.lists: dict[str, TodoList] = {}

    @abstractmethod
    def _own(self, owner: str, conversation_id: str) -> Conversation: ...

    async def todos(self, owner: str, conversation_id: str) -> TodoList:
        self._own(owner, conversation_id)
        return self.lists.get(conversation_id, TodoList())

    async def put_todos(self, owner: str, conversation_id: str, body: TodoInput) -> TodoList:
        self._own(owner, conversation_id)
        self.lists[conversation_id] = TodoList(todos=body.todos, updated_at=1.0)
        return self.lists[conversation_id]
