"""The lists as this process knows them: kept in memory, held to the rules, written before anyone is told."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.todos import rules
from pilothouse.tools.todos.wording import statistics
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCreated
from pilothouse.types.item_data import NoticeData
from pilothouse.types.items import new_item, patch
from pilothouse.types.records import Records
from pilothouse.types.todos import Todo, TodoList

# From the todos as they are to what they shall be.
Change = Callable[[Sequence[Todo]], Sequence[Todo]]
# Later than any time before it, however fine a clock is.
_INSTANT = 0.001


class TodoLists:
    """All lists; implements the port `TodoLists`. Of changes at the same time, each is made to what the other left."""

    def __init__(self, keeper: Records) -> None:
        self._keeper = keeper
        self._known: OrderedDict[str, TodoList] = OrderedDict()
        # How often others wrote: what was read before that is not remembered after it.
        self._forgotten = 0

    async def current(self, conversation_id: str) -> TodoList:
        """Return a conversation's list; the database is asked once, and again after another process wrote."""
        known = self._known.get(conversation_id)
        if known is None:
            asked = self._forgotten
            known = await self._keeper.todos(conversation_id)
            if asked == self._forgotten:
                self._remember(conversation_id, known)
        return known

    def forget(self, conversation_id: str | None = None) -> None:
        """Look again: another process wrote to a conversation, or perhaps to any."""
        self._forgotten += 1
        if conversation_id is None:
            self._known.clear()
        else:
            self._known.pop(conversation_id, None)

    async def change(self, conversation_id: str, change: Change) -> TodoList:
        """Change a list for the agent; raise BadArgument with every rule that the result would break."""

        def checked(before: Sequence[Todo]) -> Sequence[Todo]:
            after = change(before)
            wrong = [*rules.lost(before, after), *rules.complaints(after)]
            if wrong:
                raise BadArgument(" ".join(wrong))
            return after

        return await self._change(conversation_id, checked, lambda _new: ())

    async def put(self, conversation_id: str, todos: Sequence[Todo]) -> TodoList:
        """Replace a list by the person's; they may take out what is completed."""
        wrong = rules.complaints(todos)
        if wrong:
            raise PilothouseError("bad_request", " ".join(wrong))
        return await self._change(conversation_id, lambda _before: todos, lambda new: [_recorded(conversation_id, new)])

    async def _change(
        self, conversation_id: str, change: Change, recorded: Callable[[TodoList], Sequence[Event]]
    ) -> TodoList:
        while True:
            before = await self.current(conversation_id)
            after = _stamped(before, change(before.todos))
            was, events = before.updated_at, recorded(after)
            if await self._keeper.keep_todos(conversation_id, after, instead_of=was, events=events):
                self._remember(conversation_id, after)
                return after
            # Someone else was quicker; the change is made to what they left.
            self.forget(conversation_id)

    def _remember(self, conversation_id: str, todos: TodoList) -> None:
        known = self._known.get(conversation_id)
        if known is None or known.updated_at < todos.updated_at:
            self._known[conversation_id] = todos
        self._known.move_to_end(conversation_id)
        if len(self._known) > limits.TODO_LISTS_KEPT:
            self._known.popitem(last=False)


def _stamped(before: TodoList, todos: Sequence[Todo]) -> TodoList:
    """Return the new list with its times: a todo that is as it was keeps its own."""
    now = max(time.time(), before.updated_at + _INSTANT)
    known = {todo.id: todo for todo in before.todos}
    return TodoList(todos=tuple(_stamp(todo, known.get(todo.id), now) for todo in todos), updated_at=now)


def _stamp(todo: Todo, was: Todo | None, now: float) -> Todo:
    if was is None:
        return msgspec.structs.replace(todo, created_at=now, updated_at=now)
    same = msgspec.structs.replace(todo, created_at=was.created_at, updated_at=was.updated_at)
    return same if same == was else msgspec.structs.replace(same, updated_at=now)


def _recorded(conversation_id: str, todos: TodoList) -> Event:
    about = statistics(todos.todos)
    said = f"{about.completed} of {about.total} completed" if about.total else "the list is empty"
    data = patch(NoticeData, level="info", code="todos", todos=todos)
    item = new_item(conversation_id, "notice", text=f"You changed the todos: {said}.", data=data)
    return ItemCreated(item=item)
