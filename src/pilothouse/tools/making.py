"""What built-in tools are made of, and who makes one: the module that is called as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from pilothouse.types.ports import Tool
from pilothouse.types.tool_names import TOOLS

if TYPE_CHECKING:
    from pilothouse.helper.client import Helper
    from pilothouse.tools.files.workspace import Workspace
    from pilothouse.tools.sandbox.runner import SandboxRunner
    from pilothouse.tools.search.operation import Searching
    from pilothouse.tools.terminal.terminals import Terminals
    from pilothouse.tools.todos.lists import TodoLists
    from pilothouse.tools.web.parts import WebParts
    from pilothouse.types.documents import DocumentRecords, DocumentShelf
    from pilothouse.types.lazy import Lazy
    from pilothouse.types.meaning import Meaning
    from pilothouse.types.memories import MemoryKeeper
    from pilothouse.types.prompts import PromptSource
    from pilothouse.types.records import Records
    from pilothouse.types.settings import Settings
    from pilothouse.types.topics import SettingsNow


class DocumentParts(msgspec.Struct, frozen=True):
    """What the tool about documents is made of."""

    # Who keeps them, who reads them and finds things in them, and how files are reached: loaded at the first call.
    records: Lazy[DocumentRecords]
    shelf: Lazy[DocumentShelf]
    workspace: Lazy[Workspace]


class ToolParts(msgspec.Struct, frozen=True):
    """What a tool may be made of."""

    # As the person has them now.
    settings: Callable[[], Settings]
    todos: TodoLists
    # What tools gave in this conversation.
    records: Records
    helper: Helper
    # Finds by what is meant, where a model can say that.
    meaning: Meaning
    memory: Lazy[MemoryKeeper]
    documents: DocumentParts
    # The person's prompts, and what the conversation is set to.
    prompts: Lazy[PromptSource]
    settings_now: SettingsNow
    # Pages, and the services that search and make pictures.
    web: Lazy[WebParts]


class FolderToolParts(ToolParts, frozen=True):
    """What a tool may be made of that works on a folder."""

    workspace: Workspace
    terminals: Terminals
    searching: Searching
    runner: SandboxRunner


def made(parts: ToolParts) -> Iterator[Tool]:
    """Make the tools that need a folder if there is what these are made of, else those that need none."""
    for tool in TOOLS:
        if tool.label and tool.needs_folder == isinstance(parts, FolderToolParts):
            # Imported here: what works on a folder is much, and is loaded when there is one.
            make: Callable[[ToolParts], Tool] = import_module(f"pilothouse.tools.{tool.name}").make
            yield make(parts)
