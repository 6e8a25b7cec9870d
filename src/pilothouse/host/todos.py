"""The todos of a conversation."""

from __future__ import annotations

from pilothouse.types.host import Todos
from pilothouse.types.records import Records
from pilothouse.types.todos import TodoInput, TodoList, TodoLists


class TodoService(Todos):
    """What the agent has to do, as a person sees and changes it."""

    def __init__(self, records: Records, todos: TodoLists) -> None:
        self._records = records
        self._lists = todos

    async def get(self, owner: str, conversation_id: str) -> TodoList:
        chosen = (await self._records.conversation(owner, conversation_id)).branch
        return await self._lists.current(conversation_id, chosen)

    async def put(self, owner: str, conversation_id: str, body: TodoInput) -> TodoList:
        chosen = (await self._records.conversation(owner, conversation_id)).branch
        return await self._lists.put(conversation_id, body.todos, chosen)
