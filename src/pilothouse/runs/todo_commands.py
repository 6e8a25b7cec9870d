"""Commands about the todos of a conversation."""

from __future__ import annotations

from pilothouse.types.records import Records
from pilothouse.types.todos import TodoDesk, TodoInput, TodoList


class TodoCommands:
    """The part of the core by which a person sees and changes what the agent has to do."""

    def __init__(self, records: Records, todos: TodoDesk) -> None:
        self._records = records
        self._lists = todos

    async def todos(self, owner: str, conversation_id: str) -> TodoList:
        """Return a conversation's todos."""
        await self._records.conversation(owner, conversation_id)
        return await self._lists.current(conversation_id)

    async def put_todos(self, owner: str, conversation_id: str, body: TodoInput) -> TodoList:
        """Replace a conversation's todos; the agent is told before it is asked the next time."""
        await self._records.conversation(owner, conversation_id)
        return await self._lists.put(conversation_id, body.todos)
