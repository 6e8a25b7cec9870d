"""The todos of a conversation."""

from __future__ import annotations

from pilothouse.types.branches import check_branch
from pilothouse.types.host import Todos
from pilothouse.types.records import Records
from pilothouse.types.todos import TodoInput, TodoList, TodoLists


class TodoService(Todos):
    """What the agent has to do, as a person sees and changes it."""

    def __init__(self, records: Records, todos: TodoLists) -> None:
        self._records = records
        self._lists = todos

    async def get(self, owner: str, conversation_id: str, branch: int | None = None) -> TodoList:
        return await self._lists.current(conversation_id, await self._branch(owner, conversation_id, branch))

    async def put(self, owner: str, conversation_id: str, body: TodoInput) -> TodoList:
        branch = await self._branch(owner, conversation_id, body.branch)
        return await self._lists.put(conversation_id, body.todos, branch)

    async def _branch(self, owner: str, conversation_id: str, wanted: int | None) -> int:
        """Return the branch whose list is meant; raise for one that is not there."""
        conversation = await self._records.conversation(owner, conversation_id)
        return conversation.branch if wanted is None else check_branch(conversation.branches, wanted)
