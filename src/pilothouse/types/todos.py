"""The list of things to do that the agent keeps for a conversation."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from pilothouse.types.json import Frozen

TodoStatus = Literal["not-started", "in-progress", "completed", "blocked"]
Priority = Literal["low", "medium", "high", "critical"]


class Subtask(Frozen, frozen=True, omit_defaults=True):
    """A step of a todo; one level, no more."""

    title: str
    done: bool = False


class Todo(Frozen, frozen=True, omit_defaults=True):
    """One thing to do."""

    id: int
    title: str
    description: str = ""
    status: TodoStatus = "not-started"
    priority: Priority | None = None
    dependencies: tuple[int, ...] = ()
    can_run_parallel: bool | None = None
    parallel_group: str | None = None
    progress: float | None = None
    blocked_reason: str | None = None
    subtasks: tuple[Subtask, ...] = ()
    # What the agent thinks it takes.
    estimate_minutes: float | None = None
    created_at: float = 0.0
    updated_at: float = 0.0


class TodoList(Frozen, frozen=True):
    """All todos of a conversation, in order."""

    todos: tuple[Todo, ...] = ()
    updated_at: float = 0.0


class TodoKeeper(Protocol):
    """Keeps the lists, one for each conversation."""

    async def todos(self, conversation_id: str) -> TodoList:
        """Return the list; empty when there is none."""
        ...

    async def keep_todos(self, conversation_id: str, todos: TodoList) -> None:
        """Replace the list."""
        ...


class Reminder(msgspec.Struct, frozen=True):
    """Something the model is told again, by the name of who reminds."""

    name: str
    text: str


class Reminders(Protocol):
    """Says what the model must be reminded of."""

    async def current(self, conversation_id: str) -> tuple[Reminder, ...]:
        """Return the reminders of a conversation as they are now; the same state gives the same text."""
        ...
