"""The built-in tools as plugins of the host: they come in through the same hooks as everyone else's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pilothouse.plugins.manager import Plugins
from pilothouse.tools.fitting import fitting
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

    def __init__(self, todos: TodoLists) -> None:
        self._todos = todos
        # Set by who knows them all: thinking may ask for tools by name.
        self.names: Sequence[str] = ()

    def pilothouse_tools(self, context: PluginContext) -> Iterable[Tool]:
        """Return the tools."""
        return (Think(lambda: self.names), todo_operations(self._todos))

    def pilothouse_reminders(self, context: PluginContext) -> Iterable[Reminders]:
        """Return what every model is reminded of."""
        return (TodoReminders(self._todos),)


class BuiltIns:
    """The tools that come with the host and with plugins."""

    def __init__(self, plugins: Plugins, core: CoreTools) -> None:
        self._plugins = plugins
        self._core = core

    def fitting(self, wanted: ToolRequest) -> list[Tool]:
        """Return those that fit a conversation, in their fixed order."""
        without = frozenset({HANDS}) if wanted.working_directory is None else frozenset[str]()
        tools = fitting(self._plugins.tools(without=without), wanted)
        self._core.names = [tool.spec.name for tool in tools]
        return tools
