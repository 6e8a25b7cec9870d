"""The built-in tools as plugins of the host: they come in through the same hooks as everyone else's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pilothouse.plugins.guarded import GuardedTool
from pilothouse.plugins.manager import Plugins
from pilothouse.tools.collaboration import UserCollaboration
from pilothouse.tools.consolidated import Consolidated
from pilothouse.tools.fitting import fitting
from pilothouse.tools.iterations import IncreaseMaxIterations
from pilothouse.tools.think import Think
from pilothouse.tools.todos.lists import TodoLists
from pilothouse.tools.todos.reminder import TodoReminders
from pilothouse.tools.todos.tool import todo_operations
from pilothouse.types.plugins import PluginContext
from pilothouse.types.ports import Tool, ToolRequest
from pilothouse.types.todos import Reminders

# The tools that work on a folder; what they need is loaded when a conversation has one.
HANDS = "hands"


class CoreTools:
    """The tools that every conversation may have."""

    def __init__(self, todos: TodoLists, most_added_iterations: Callable[[], int]) -> None:
        self._todos = todos
        self._most_added_iterations = most_added_iterations

    def pilothouse_tools(self, context: PluginContext) -> Iterable[Tool]:
        """Return the tools."""
        return (
            Think(),
            UserCollaboration(),
            IncreaseMaxIterations(self._most_added_iterations),
            todo_operations(self._todos),
        )

    def pilothouse_reminders(self, context: PluginContext) -> Iterable[Reminders]:
        """Return what every model is reminded of."""
        return (TodoReminders(self._todos),)


class BuiltIns:
    """The tools that come with the host and with plugins."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

    def fitting(self, wanted: ToolRequest) -> list[Tool]:
        """Return those that fit a conversation, in their fixed order."""
        without = frozenset({HANDS}) if wanted.working_directory is None else frozenset[str]()
        return fitting(self._plugins.tools(without=without), wanted)

    def operations(self) -> dict[str, Sequence[str] | None]:
        """Return the operations of each tool by its name; None for a plugin's, which does not tell them."""
        found: dict[str, Sequence[str] | None] = {}
        for tool in self._plugins.tools():
            if isinstance(tool, GuardedTool):
                found |= dict.fromkeys((tool.spec.name, tool.qualified_name.partition(".")[0]))
            else:
                found[tool.spec.name] = tool.supported_operations if isinstance(tool, Consolidated) else ()
        return found
