"""The groups of commands, each imported when one of its commands is wanted."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from typer.core import TyperGroup
from typer.main import get_group

# Each is a module of its own, with what its help says.
GROUPS = {
    "models": ("models", "List, add, edit, remove and test models."),
    "mcp": ("mcp", "Add MCP servers, look at them, and use their tools."),
    "conversations": ("conversations", "List, show, search, export and import conversations."),
    "memory": ("memories", "List, search, add, edit and forget memories."),
    "documents": ("documents", "Add, list, search, show and remove documents."),
    "terminal": ("terminals", "See and stop what runs in a conversation's terminal."),
    "topic": ("topics", "List, make, rename and remove topics."),
    "prompt": ("prompts", "List and show your prompts, and find their files."),
    "policy": ("policy", "List, add, remove and try rules about what may be done."),
    "grants": ("grants", "List, give and withdraw what is allowed for a while."),
    "audit": ("audit", "Export the record of what was done, and verify it."),
    "plugins": ("plugins", "List installed plugins; enable and disable them."),
    "web": ("web", "Set up who searches the web and makes pictures."),
}


class LateGroup(TyperGroup):
    """A group whose module is imported when one of its commands is wanted."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of its commands."""
        self._load()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return one of its commands, None when there is none."""
        self._load()
        return super().get_command(ctx, cmd_name)

    def _load(self) -> None:
        if not self.commands:
            module, _help = GROUPS[str(self.name)]
            self.commands.update(get_group(import_module(f"pilothouse.cli.{module}").app).commands)
