"""The list of things to do that the agent keeps for a conversation."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from pilothouse.types.json import Body, Frozen

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


class TodoInput(Body, frozen=True):
    """A conversation's todos as the person wants them, all of them."""

    todos: tuple[Todo, ...]
    # The branch whose list it is; None for the one that was chosen last.
    branch: int | None = None


class TodoLists(Protocol):
    """A conversation's todos as the person may change them."""

    async def current(self, conversation_id: str, branch: int = 0) -> TodoList:
        """Return the list as it is now."""

    async def put(self, conversation_id: str, todos: Sequence[Todo], branch: int = 0) -> TodoList:
        """Replace the list by the person's, and record that they did; raise `bad_request` for what breaks a rule."""

    async def joined(self, conversation_id: str, topic_id: str) -> None:
        """Let a topic without todos begin with those of a conversation that was put into it, which keeps its own."""


class Reminder(msgspec.Struct, frozen=True):
    """Something the model is told again, by the name of who reminds."""

    name: str
    text: str
    # Said only to a model that has this tool; empty: to any.
    tool: str = ""
    # Whose private data it holds, by the names of where that was read.
    private: tuple[str, ...] = ()


class PluginReminders(Protocol):
    """Says what the model must be reminded of, as a plugin does."""

    async def current(self, conversation_id: str) -> tuple[Reminder, ...]:
        """Return the reminders of a conversation as they are now; the same state gives the same text."""


class Reminders(Protocol):
    """Says what the model must be reminded of."""

    async def current(self, conversation_id: str, branch: int = 0) -> tuple[Reminder, ...]:
        """Return the reminders of a conversation's branch as they are now; the same state gives the same text."""
