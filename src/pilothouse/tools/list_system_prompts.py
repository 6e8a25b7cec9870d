"""The tool `list_system_prompts`."""

from __future__ import annotations

from pilothouse.tools.making import ToolParts
from pilothouse.tools.prompt_lists import PromptLister


def make(parts: ToolParts) -> PromptLister:
    """Make the tool."""
    return PromptLister("prompt", parts.prompts, parts.settings_now)
