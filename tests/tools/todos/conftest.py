"""The tool over a real store, and a call of it in one line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio

from pilothouse.store.opening import open_store
from pilothouse.store.store import Store
from pilothouse.timeline.feed import Feed
from pilothouse.tools.todo_operations import todo_operations
from pilothouse.tools.todos.lists import TodoLists
from pilothouse.types.ports import CallContext, ToolOutput
from tests.support.records import a_conversation
from tests.support.tools import Silent


class TodoCalls:
    """A conversation's todos and the tool that keeps them."""

    def __init__(self, store: Store, conversation_id: str) -> None:
        self.store = store
        self.id = conversation_id
        self.lists = TodoLists(store)
        self.tool = todo_operations(self.lists)

    async def call(self, operation: str, **arguments: Any) -> ToolOutput:
        """Call the tool as the agent does, after asking what it would touch."""
        given = {"operation": operation, **arguments}
        context = CallContext(self.id, "r", "i", None, (), False)
        await self.tool.access(given, context)
        output = await self.tool.execute(given, context, Silent())
        assert isinstance(output, ToolOutput)
        return output

    async def done(self, operation: str, **arguments: Any) -> list[dict[str, Any]]:
        """Call the tool and return the todos afterwards."""
        output = await self.call(operation, **arguments)
        assert output.error is None, output.text
        return list(output.data["todos"]["todos"])

    async def refused(self, operation: str, **arguments: Any) -> str:
        """Call the tool with what it does not take; return what it says, and see that nothing changed."""
        before = await self.store.todos(self.id)
        output = await self.call(operation, **arguments)
        assert output.error is not None
        assert output.error.code == "INVALID_ARGUMENTS"
        assert await self.store.todos(self.id) == before == await self.lists.current(self.id)
        return output.text


@pytest_asyncio.fixture
async def todo_calls(tmp_path: Path) -> AsyncIterator[TodoCalls]:
    opened = open_store(tmp_path, None, Feed().publish)
    conversation = await opened.store.add_conversation(a_conversation())
    yield TodoCalls(opened.store, conversation.id)
    await opened.close()
