"""The built-in tools as plugins of the host: they come in through the same hooks as everyone else's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pilothouse.plugins.guarded import GuardedTool
from pilothouse.plugins.manager import Plugins
from pilothouse.prompts.reminders import MiniPromptReminders
from pilothouse.tools.consolidated import Consolidated
from pilothouse.tools.document_operations import DocumentReminders
from pilothouse.tools.making import ToolParts, made
from pilothouse.tools.todo_operations import TodoReminders
from pilothouse.types.plugins import PluginContext
from pilothouse.types.ports import MayBeMissing, Tool
from pilothouse.types.todos import Reminders

# The tools that work on a folder; what they need is loaded when a conversation has one.
FOLDER_TOOLS = "folder_tools"


class CoreTools:
    """The tools that every conversation may have."""

    def __init__(self, parts: ToolParts, stored: Reminders) -> None:
        self._parts = parts
        self._stored = stored

    def pilothouse_tools(self, context: PluginContext) -> Iterable[Tool]:
        """Return the tools."""
        return made(self._parts)

    def pilothouse_reminders(self, context: PluginContext) -> Iterable[Reminders]:
        """Return what every model is reminded of."""
        parts = self._parts
        return (
            TodoReminders(parts.todos),
            DocumentReminders(parts.records, parts.documents.records, parts.settings_now),
            MiniPromptReminders(parts.prompts, parts.settings_now),
            # What was stored comes last.
            self._stored,
        )


class BuiltIns:
    """The tools that come with the host and with plugins."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

    def tools(self, working_directory: str | None) -> list[Tool]:
        """Return all that can be used now; those that need a folder are loaded when there is one."""
        found = self._plugins.tools(without=frozenset({FOLDER_TOOLS}) if working_directory is None else frozenset())
        usable = (tool.now() if isinstance(tool, MayBeMissing) else tool for tool in found)
        return [tool for tool in usable if tool is not None]

    def operations(self) -> dict[str, Sequence[str] | None]:
        """Return the operations of each tool by its name; None for a plugin's, which does not tell them."""
        found: dict[str, Sequence[str] | None] = {}
        for tool in self._plugins.tools():
            if isinstance(tool, GuardedTool):
                found |= dict.fromkeys((tool.spec.name, tool.qualified_name.partition(".")[0]))
            else:
                found[tool.spec.name] = tool.supported_operations if isinstance(tool, Consolidated) else ()
        return found
