"""What the two tools that list prompts have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pilothouse.tools.arguments import failed, success
from pilothouse.tools.harmless import Harmless, spec_of
from pilothouse.types.access import Shown
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.lazy import Lazy
from pilothouse.types.ports import CallContext, CallFeedback, ToolOutput
from pilothouse.types.topics import SettingsNow

if TYPE_CHECKING:
    from pilothouse.types.prompts import PromptKind, PromptSource, PromptView


class PromptLister(Harmless):
    """Lists the prompts of a kind; reads nothing but their titles, and changes nothing."""

    def __init__(self, kind: PromptKind, prompts: Lazy[PromptSource], settings: SettingsNow) -> None:
        self._kind = kind
        self._prompts = prompts
        self._settings = settings
        self.spec = spec_of(f"list_{'system' if kind == 'prompt' else 'mini'}_prompts", (), {})

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        what = "Listing the prompts" if self._kind == "prompt" else "Listing the mini prompts"
        return Shown(action="list", action_display_name=what, summary=what, icon="clipboard")

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """List them."""
        try:
            listed = await self._prompts().listed(self._kind)
            settings = await self._settings.of(context.conversation_id)
        except PilothouseError as error:
            return failed(error.message, error.code.upper())
        on = {settings.prompt} if self._kind == "prompt" else set(settings.mini_prompts)
        found = [_entry(each, is_on=each.name in on) for each in listed.prompts]
        lines = [_line(each) for each in found] or ["There are none."]
        return success("\n".join([*lines, *listed.problems]), {"prompts": found})


def _entry(prompt: PromptView, *, is_on: bool) -> JsonObject:
    asked = [each.name for each in prompt.variables if not each.built_in]
    entry: JsonObject = {"name": prompt.name, "title": prompt.title, "description": prompt.description, "on": is_on}
    return entry | ({"variables": asked} if asked else {})


def _line(entry: JsonObject) -> str:
    about = f": {entry['description']}" if entry["description"] else ""
    asked = f" Variables: {', '.join(entry['variables'])}." if "variables" in entry else ""
    return f"{entry['name']} ({entry['title']}{', on' if entry['on'] else ''}){about}{asked}"
