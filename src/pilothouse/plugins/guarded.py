"""A plugin's parts behind our own walls: what they raise becomes a sentence with the plugin's name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, Shown
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ToolSpec
from pilothouse.types.plugins import Masker, MaskerFailed
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, Tool, ToolError, ToolOutput, ToolPaused
from pilothouse.types.todos import Reminder, Reminders

_log = logging.getLogger(__name__)


class GuardedTool:
    """A plugin's tool, exactly as it was when it was found."""

    server = ""

    def __init__(self, tool: Tool, plugin: str) -> None:
        self._tool = tool
        self._plugin = plugin
        self.spec: ToolSpec = tool.spec
        self.qualified_name = tool.qualified_name
        self.grant_key = tool.grant_key
        self.effects: frozenset[Effect] = frozenset(tool.effects)

    def limited(self, allowed: frozenset[Effect]) -> GuardedTool | None:
        """Return the tool with only what touches nothing else; None when the plugin cannot say."""
        try:
            left = self._tool.limited(allowed)
        except Exception:
            _log.exception("the plugin %s raised in limited", self._plugin)
            return None
        return GuardedTool(left, self._plugin) if left is not None else None

    async def access(self, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:
        """Return what a call would touch; one that cannot say is not carried out."""
        try:
            return await self._tool.access(arguments, context)
        except Exception as error:
            return self._failed(error)

    def times_for(self, arguments: Mapping[str, object]) -> CallTimes:
        """Return how long a call may take."""
        try:
            return self._tool.times_for(arguments)
        except Exception:
            _log.exception("the plugin %s raised in times_for", self._plugin)
            return CallTimes(limits.TOOL_TIME)

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return a call in words and with a picture."""
        try:
            return self._tool.shown(arguments)
        except Exception:
            _log.exception("the plugin %s raised in shown", self._plugin)
            return Shown.by_name(self.qualified_name)

    def display(self, arguments: Mapping[str, object]) -> str:
        """Return one friendly line."""
        return self.shown(arguments).summary

    async def execute(
        self, arguments: JsonObject, context: CallContext, feedback: CallFeedback
    ) -> ToolOutput | ToolPaused:
        """Do it; what it raises is the call's failure."""
        try:
            return await self._tool.execute(arguments, context, feedback)
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception) -> ToolOutput:
        _log.warning("the plugin %s raised", self._plugin, exc_info=error)
        message = f"The plugin “{self._plugin}” failed: {type(error).__name__}."
        return ToolOutput(text=message, error=ToolError("EXECUTION_FAILED", message))


class GuardedReminders:
    """A plugin's reminders, until it raises."""

    def __init__(self, reminders: Reminders, broke: Callable[[Exception], None]) -> None:
        self._reminders: Reminders | None = reminders
        self._broke = broke

    async def current(self, conversation_id: str) -> tuple[Reminder, ...]:
        """Return the reminders; none any more after the plugin broke."""
        if self._reminders is None:
            return ()
        try:
            return tuple(await self._reminders.current(conversation_id))
        except Exception as error:
            self._reminders = None
            self._broke(error)
            return ()


class GuardedMasker:
    """A plugin's masker: it is never switched off, because then everything would pass."""

    def __init__(self, masker: Masker, plugin: str) -> None:
        self._masker = masker
        self._plugin = plugin

    @property
    def reach(self) -> int:
        """Return the length of the longest text it takes out, as far as it says."""
        try:
            return max(0, int(self._masker.reach))
        except Exception:
            return limits.MASKER_REACH

    def mask(self, text: str) -> str:
        """Return the text without what it takes out; raise with the plugin's name when it breaks."""
        failed = MaskerFailed(f"The plugin “{self._plugin}” could not mask it.")
        try:
            masked = self._masker.mask(text)
        except Exception as error:
            raise failed from error
        if not isinstance(masked, str):
            raise failed
        return masked
