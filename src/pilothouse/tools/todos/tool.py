"""The tool `todo_operations`: read, write, update, add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pilothouse.tools.arguments import success
from pilothouse.tools.consolidated import Consolidated
from pilothouse.tools.todos import parsing
from pilothouse.tools.todos.lists import TodoLists
from pilothouse.tools.todos.wording import in_words, statistics
from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, Shown
from pilothouse.types.json import JsonObject, plain
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, ToolOutput
from pilothouse.types.todos import Todo, TodoList

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
# What an operation makes of the todos as they are.
Made = Callable[[Sequence[Todo], Mapping[str, object]], Sequence[Todo]]


def todo_operations(lists: TodoLists) -> Consolidated:
    """Return the tool over these lists."""
    replaced: Made = lambda _todos, arguments: parsing.whole_list(arguments)  # noqa: E731
    like = {"type": "array", "items": {"type": "object"}}
    return Consolidated(
        NAME,
        (Path(__file__).parent / "todos.md").read_text().strip(),
        (
            _Read(lists),
            _Change(lists, "write", "Writing the todos", {"todoList": {"type": "array", "items": _TODO}}, replaced),
            _Change(
                lists,
                "update",
                "Updating the todos",
                {"todoUpdates": {**like, "description": "id and the fields of todoList that change"}},
                parsing.updated,
            ),
            _Change(
                lists,
                "add",
                "Adding todos",
                {"newTodos": {**like, "description": "fields as in todoList, without id"}},
                parsing.added,
            ),
        ),
    )


class _Operation:
    """What all four have in common: they touch nothing but the list, one after the other."""

    effects: frozenset[Effect] = frozenset()
    times = CallTimes(limits.TOOL_TIME)

    def __init__(self, lists: TodoLists, name: str, words: str, properties: JsonObject) -> None:
        self._lists = lists
        self.name = name
        self._words = words
        self.properties = properties

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Say that it touches nothing."""
        return Access(operation=f"{NAME}.{self.name}", lane=LANE)

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return the operation with the titles or ids it is about."""
        details = tuple(_detail(each) for key in self.properties for each in _listed(arguments.get(key)))
        count = f": {len(details)}" if details else ""
        return Shown(
            action=self.name,
            action_display_name=self._words,
            summary=f"{self._words}{count}",
            details=details[: limits.TODOS_REMINDED],
            icon="clipboard",
        )


class _Read(_Operation):
    """Returns the list."""

    def __init__(self, lists: TodoLists) -> None:
        super().__init__(lists, "read", "Reading the todos", {})

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Return the list with its statistics."""
        return _result(await self._lists.current(context.conversation_id))


class _Change(_Operation):
    """Makes a new list of the old one."""

    def __init__(self, lists: TodoLists, name: str, words: str, properties: JsonObject, made: Made) -> None:
        super().__init__(lists, name, words, properties)
        self._made = made

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Change the list, or say which rules that would break."""
        return _result(await self._lists.change(context.conversation_id, lambda todos: self._made(todos, arguments)))


def _result(todos: TodoList) -> ToolOutput:
    return success(in_words(todos), {"todos": plain(todos), "statistics": plain(statistics(todos.todos))})


def _listed(given: object) -> list[JsonObject]:
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


def _detail(todo: JsonObject) -> str:
    number = f"{todo['id']}. " if "id" in todo else ""
    said = " ".join(str(todo[key]) for key in ("title", "status") if todo.get(key))
    return f"{number}{said}".strip()
