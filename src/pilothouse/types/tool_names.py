"""The built-in tools by name, in the order in which models get them, which never changes; and what servers have."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pilothouse.types.json import Frozen
from pilothouse.types.ports import Tool

# The tool whose calls add to how often a model may be asked in a run.
INCREASE = "increase_max_iterations"
# The tool by which the agent asks the person; only its questions may ask for permission.
COLLABORATION = "user_collaboration"
# The tools by which others are found, and called by their names.
SEARCH = "search_tools"
CALL = "call_tool"
# The tool by which the model reads the rest of a large result.
READ_RESULT = "read_tool_result"
# The tool that works on files.
FILES = "file_operations"
# The tool that keeps and finds memories.
MEMORY = "memory_operations"
# The tool that imports documents and finds things in them.
DOCUMENTS = "document_operations"
# The tool by which it reads what a summary of older turns replaced.
RECALL = "recall_history"

# The tool that reads the web, and the one that makes pictures.
WEB = "web_operations"
PICTURES = "image_generation"


class BuiltInTool(Frozen, frozen=True):
    """A built-in tool as a person chooses it."""

    name: str
    # Empty for one that is still to come: its name is taken already.
    label: str = ""
    note: str = ""
    # It works on a folder, and is not offered without one.
    needs_folder: bool = False
    # It is no burden for a small model either.
    for_small_models: bool = False
    # It comes with tools that are found on demand, and is not chosen by itself.
    for_finding: bool = False
    # It needs a service that the person sets up, and is not offered without one.
    needs_service: bool = False


# A server of such a name would make its calls look like those of our own tools.
TOOLS = (
    BuiltInTool("think", "Thinking aloud", "A place for thoughts between calls.", for_small_models=True),
    BuiltInTool(COLLABORATION, "Questions to you", "The agent may ask, and waits for the answer."),
    BuiltInTool("run_subagent"),
    BuiltInTool(INCREASE, "More rounds", "The agent may ask for a longer run."),
    BuiltInTool("list_system_prompts", "Prompts", "The agent sees which prompts you have."),
    BuiltInTool("list_mini_prompts", "Mini prompts", "The agent sees which ones are on."),
    BuiltInTool(MEMORY, "Memory", "What is worth knowing later is kept, and found again."),
    BuiltInTool("todo_operations", "Todos", "The list that shows how far it is."),
    BuiltInTool(READ_RESULT, "Reading results again", "Any part of a large result.", for_small_models=True),
    BuiltInTool(RECALL, "Looking back", "What a summary of older messages stands for.", for_small_models=True),
    BuiltInTool(WEB, "Web", "Reading pages, and searching where you have a service for it."),
    BuiltInTool(DOCUMENTS, "Documents", "Importing files and finding things in them."),
    BuiltInTool(FILES, "Files", "Reading, searching and changing files.", needs_folder=True),
    BuiltInTool("terminal_operations", "Terminal", "Running commands.", needs_folder=True),
    BuiltInTool("build_and_version_control", "Tasks and git", "Building, testing, committing.", needs_folder=True),
    BuiltInTool(PICTURES, "Pictures", "Making pictures, where you have a service for it.", needs_service=True),
    BuiltInTool(SEARCH, "Finding tools", "Where servers have many tools, the agent looks for them.", for_finding=True),
    BuiltInTool(CALL, "Calling what it found", "You see and decide about the tool itself.", for_finding=True),
)
BUILT_IN = tuple(tool.name for tool in TOOLS)


class ServerTools(msgspec.Struct, frozen=True):
    """What one server has for a run."""

    name: str
    tools: tuple[Tool, ...]
    # What it says about itself.
    instructions: str = ""
    # Whether its tools were named one by one.
    named: bool = False


def counted(servers: Mapping[str, int]) -> str:
    """Return how many tools of which servers, in words."""
    return ", ".join(f"{count} of “{name}”" for name, count in servers.items())
