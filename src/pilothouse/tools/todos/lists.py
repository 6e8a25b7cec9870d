"""The lists as this process knows them: kept in memory, held to the rules, written before anyone is told.

A conversation has a list of its own. In a topic it has that of the topic, with all others there; its own one waits
until it leaves.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.todos import rules
from pilothouse.tools.todos.wording import statistics
from pilothouse.types import limits
from pilothouse.types.branches import place_from
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCreated
from pilothouse.types.item_data import NoticeData
from pilothouse.types.items import new_item, patch
from pilothouse.types.records import Records
from pilothouse.types.todos import Todo, TodoList
from pilothouse.types.topics import place_of_todos

# From the todos as they are to what they shall be.
Change = Callable[[Sequence[Todo]], Sequence[Todo]]
# What a conversation is set to now.
SettingsOf = Callable[[str], Awaitable[ConversationSettings]]
# Told of a topic's list that changed here.
Shared = Callable[[str, TodoList], None]
# What is written into the conversation's timeline about its new list.
Recorded = Callable[[TodoList], Sequence[ItemCreated]]
# Later than any time before it, however fine a clock is.
_INSTANT = 0.001
# What the id of a topic begins with, and that of a conversation does not.
_TOPIC = "t_"


class TodoLists:
    """All lists; implements the port `TodoLists`. Of changes at the same time, each is made to what the other left."""

    def __init__(
        self,
        keeper: Records,
        settings_of: SettingsOf | None = None,
        shared: Shared = lambda _topic_id, _todos: None,
    ) -> None:
        self._keeper = keeper
        self._settings_of = settings_of or keeper.settings
        self._shared = shared
        # By the conversation or the topic that they are of.
        self._known: OrderedDict[str, TodoList] = OrderedDict()
        # How often others wrote: what was read before that is not remembered after it.
        self._forgotten = 0

    async def current(self, conversation_id: str, branch: int = 0) -> TodoList:
        """Return the list of a branch; the database is asked once, and again after another process wrote."""
        return await self._at(await self._place(conversation_id, branch))

    async def _place(self, conversation_id: str, branch: int) -> str:
        return place_of_todos(conversation_id, await self._settings_of(conversation_id), branch)

    async def _at(self, place: str) -> TodoList:
        known = self._known.get(place)
        if known is None:
            asked = self._forgotten
            known = await self._keeper.todos(place)
            if asked == self._forgotten:
                self._remember(place, known)
        return known

    def forget(self, conversation_id: str | None = None) -> None:
        """Look again: another process wrote to a conversation and to its topic, or perhaps to any."""
        self._forgotten += 1
        if conversation_id is None:
            self._known.clear()
            return
        # Which topic it is in may be news to this process.
        for place in [place for place in self._known if _is_of(place, conversation_id) or place.startswith(_TOPIC)]:
            del self._known[place]

    async def joined(self, conversation_id: str, topic_id: str) -> None:
        """Let a topic without todos begin with those of a conversation that was put into it, which keeps its own."""
        own = await self._at(conversation_id)
        if own.todos and not (await self._at(topic_id)).todos:
            await self._write(topic_id, lambda there: there or own.todos, lambda _new: ())

    async def change(self, conversation_id: str, change: Change, branch: int = 0) -> TodoList:
        """Change a list for the agent; raise BadArgument with every rule that the result would break."""

        def checked(before: Sequence[Todo]) -> Sequence[Todo]:
            after = change(before)
            wrong = [*rules.lost(before, after), *rules.complaints(after)]
            if wrong:
                raise BadArgument(" ".join(wrong))
            return after

        return await self._write(await self._place(conversation_id, branch), checked, lambda _new: ())

    async def put(self, conversation_id: str, todos: Sequence[Todo], branch: int = 0) -> TodoList:
        """Replace a list by the person's; they may take out what is completed."""
        wrong = rules.complaints(todos)
        if wrong:
            raise PilothouseError("bad_request", " ".join(wrong))
        place = await self._place(conversation_id, branch)
        return await self._write(place, lambda _before: todos, lambda new: [_recorded(conversation_id, new, branch)])

    async def _write(self, place: str, change: Change, recorded: Recorded) -> TodoList:
        while True:
            before = await self._at(place)
            after = _stamped(before, change(before.todos))
            was, items = before.updated_at, recorded(after)
            if await self._keeper.keep_todos(place, after, instead_of=was, recorded=items):
                self._remember(place, after)
                if place.startswith(_TOPIC):
                    self._shared(place, after)
                return after
            # Someone else was quicker; the change is made to what they left.
            self.forget(place)

    def _remember(self, place: str, todos: TodoList) -> None:
        known = self._known.get(place)
        if known is None or known.updated_at < todos.updated_at:
            self._known[place] = todos
        self._known.move_to_end(place)
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


def _is_of(place: str, conversation_id: str) -> bool:
    return place_from(place)[0] == place_from(conversation_id)[0]


def _recorded(conversation_id: str, todos: TodoList, branch: int) -> ItemCreated:
    about = statistics(todos.todos)
    said = f"{about.completed} of {about.total} completed" if about.total else "the list is empty"
    data = patch(NoticeData, level="info", code="todos", todos=todos)
    item = new_item(conversation_id, "notice", text=f"You changed the todos: {said}.", data=data)
    return ItemCreated(item=msgspec.structs.replace(item, branch=branch))
