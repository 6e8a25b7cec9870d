"""What the model is told about its todos again and again."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from pilothouse.tools.todos.tool import NAME
from pilothouse.tools.todos.wording import statistics
from pilothouse.types import limits
from pilothouse.types.todos import Reminder, Todo, TodoDesk, TodoStatus

_RULES = (Path(__file__).parent / "reminder.md").read_text().strip()
_READY = f"Everything is completed: ready for new work. Append new todos with {NAME} (add)."


class TodoReminders:
    """Reminds of the todos while there are any; implements the port `Reminders`."""

    def __init__(self, desk: TodoDesk) -> None:
        self._desk = desk

    async def current(self, conversation_id: str) -> tuple[Reminder, ...]:
        """Return the reminder of a conversation's todos, or nothing."""
        todos = (await self._desk.current(conversation_id)).todos
        return (Reminder("todos", _text(todos), NAME),) if todos else ()


def _text(todos: Sequence[Todo]) -> str:
    about = statistics(todos)
    lines = ["<todoList>", f"Completed: {about.completed} of {about.total}"]
    lines += _named("In progress", todos, "in-progress")
    lines += _named("Not started", todos, "not-started")
    lines += _named("Blocked", todos, "blocked")
    lines += [_READY if about.all_done else _RULES, "</todoList>"]
    return "\n".join(lines)


def _named(label: str, todos: Sequence[Todo], status: TodoStatus) -> list[str]:
    found = [f"[{todo.id}] {_plain(todo.title)}" for todo in todos if todo.status == status]
    left = len(found) - limits.TODOS_REMINDED
    said = "; ".join(found[: limits.TODOS_REMINDED]) + (f"; and {left} more" if left > 0 else "")
    return [f"{label}: {said}"] if found else []


def _plain(title: str) -> str:
    """Return a title on one line that cannot end the list early."""
    return escape(" ".join(title.split()), quote=False)
