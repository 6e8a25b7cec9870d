"""The tool `todo_operations` (read, write, update, add), and what reminds the model of its todos."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import ClassVar

from pilothouse.tools.arguments import success
from pilothouse.tools.consolidated import Consolidated, Operation
from pilothouse.tools.making import ToolParts
from pilothouse.tools.todos import parsing
from pilothouse.tools.todos.lists import TodoLists
from pilothouse.tools.todos.wording import in_words, statistics
from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.json import JsonObject, plain
from pilothouse.types.ports import CallContext, CallFeedback, ToolOutput
from pilothouse.types.todos import Reminder, Todo, TodoList, TodoStatus

NAME = "todo_operations"
LANE = "todos"
_TODO: JsonObject = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "title": {"type": "string", "description": "3 to 7 words"},
        "description": {"type": "string"},
        "status": {"type": "string", "enum": ["not-started", "in-progress", "completed", "blocked"]},
        "priority": {"type": "string", "enum": ["low", "medium", "high", "critical"]},
        "dependencies": {"type": "array", "items": {"type": "integer"}, "description": "ids of todos that come first"},
        "canRunParallel": {"type": "boolean"},
        "parallelGroup": {"type": "string"},
        "progress": {"type": "number", "description": "0.0 to 1.0"},
        "blockedReason": {"type": "string"},
        "subtasks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"title": {"type": "string"}, "done": {"type": "boolean"}},
                "required": ["title"],
            },
        },
        "estimateMinutes": {"type": "number"},
    },
}
_LIKE: JsonObject = {"type": "array", "items": {"type": "object"}}
_RULES = (Path(__file__).parent / "todos" / "reminder.md").read_text().strip()
_READY = f"Everything is completed: ready for new work. Append new todos with {NAME} (add)."


class _Operation(Operation):
    """What all four have in common: they touch nothing but the list, one after the other."""

    icon = "clipboard"

    def __init__(self, lists: TodoLists) -> None:
        self._lists = lists

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        return Access(operation=f"{NAME}.{self.name}", lane=LANE)

    def about(self, arguments: Mapping[str, object]) -> str:
        return str(len(self._named(arguments)) or "")

    def details(self, arguments: Mapping[str, object]) -> list[str]:
        return self._named(arguments)[: limits.TODOS_REMINDED]

    def _named(self, arguments: Mapping[str, object]) -> list[str]:
        """Return the titles or ids that a call is about."""
        return [_detail(each) for key in self.properties for each in _listed(arguments.get(key))]


class _Read(_Operation):
    """Returns the list."""

    name = "read"
    doing = "Reading the todos"

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        return _result(await self._lists.current(context.conversation_id, context.branch))


class _Change(_Operation):
    """Makes a new list of the old one."""

    @abstractmethod
    def _changed(self, todos: Sequence[Todo], arguments: JsonObject) -> Sequence[Todo]: ...

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        changed = await self._lists.change(
            context.conversation_id, lambda todos: self._changed(todos, arguments), context.branch
        )
        return _result(changed)


class _Write(_Change):
    name = "write"
    doing = "Writing the todos"
    properties: ClassVar[JsonObject] = {"todoList": {"type": "array", "items": _TODO}}

    def _changed(self, todos: Sequence[Todo], arguments: JsonObject) -> Sequence[Todo]:
        return parsing.whole_list(arguments)


class _Update(_Change):
    name = "update"
    doing = "Updating the todos"
    properties: ClassVar[JsonObject] = {
        "todoUpdates": {**_LIKE, "description": "id and the fields of todoList that change"}
    }

    def _changed(self, todos: Sequence[Todo], arguments: JsonObject) -> Sequence[Todo]:
        return parsing.updated(todos, arguments)


class _Add(_Change):
    name = "add"
    doing = "Adding todos"
    properties: ClassVar[JsonObject] = {"newTodos": {**_LIKE, "description": "fields as in todoList, without id"}}

    def _changed(self, todos: Sequence[Todo], arguments: JsonObject) -> Sequence[Todo]:
        return parsing.added(todos, arguments)


def make(parts: ToolParts) -> Consolidated:
    """Make the tool."""
    return todo_operations(parts.todos)


def todo_operations(lists: TodoLists) -> Consolidated:
    """Return the tool over these lists."""
    description = (Path(__file__).parent / "todo_operations.md").read_text().strip()
    return Consolidated(NAME, description, (_Read(lists), _Write(lists), _Update(lists), _Add(lists)))


def _result(todos: TodoList) -> ToolOutput:
    return success(in_words(todos), {"todos": plain(todos), "statistics": plain(statistics(todos.todos))})


def _listed(given: object) -> list[JsonObject]:
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


def _detail(todo: JsonObject) -> str:
    number = f"{todo['id']}. " if "id" in todo else ""
    said = " ".join(str(todo[key]) for key in ("title", "status") if todo.get(key))
    return f"{number}{said}".strip()


class TodoReminders:
    """Reminds of the todos while there are any; implements the port `Reminders`."""

    def __init__(self, workspace: TodoLists) -> None:
        self._workspace = workspace

    async def current(self, conversation_id: str, branch: int = 0) -> tuple[Reminder, ...]:
        todos = (await self._workspace.current(conversation_id, branch)).todos
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
