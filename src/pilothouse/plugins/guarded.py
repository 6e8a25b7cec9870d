"""A plugin's parts behind our own walls: what they raise becomes a sentence with the plugin's name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import msgspec

from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, Shown, Taint
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ToolSpec
from pilothouse.types.plugins import Masker, MaskerFailed
from pilothouse.types.ports import CallContext, CallFeedback, CallTimes, Tool, ToolError, ToolOutput, ToolPaused
from pilothouse.types.todos import PluginReminders, Reminder

_log = logging.getLogger(__name__)
_ANYTHING: frozenset[Effect] = frozenset({"reads", "writes", "runs", "sends"})


class GuardedTool:
    """A plugin's tool, exactly as it was when it was found."""

    server = ""

    def __init__(self, tool: Tool, plugin: str) -> None:
        self._tool = tool
        self._plugin = plugin
        self.spec: ToolSpec = tool.spec
        self.qualified_name = tool.qualified_name
        self.grant_key = tool.grant_key
        # Nothing said about what it touches is not the same as touching nothing.
        self._harmless = getattr(tool, "touches_nothing", False) is True
        self.effects: frozenset[Effect] = frozenset(tool.effects or (() if self._harmless else _ANYTHING))

    def limited(self, allowed: frozenset[Effect]) -> GuardedTool | None:
        """Return the tool with only what touches nothing else; None when the plugin cannot say."""
        try:
            left = self._tool.limited(allowed) if self._tool.effects or self.effects <= allowed else None
        except Exception:
            _log.exception("the plugin %s raised in limited", self._plugin)
            return None
        return GuardedTool(left, self._plugin) if left is not None else None

    async def access(self, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:
        """Return what a call would touch; one that cannot say is not carried out."""
        try:
            said = await self._tool.access(arguments, context)
        except Exception as error:
            return self._failed(error)
        silent = isinstance(said, Access) and not _says_something(said) and not self._harmless
        return self._unknown(said) if silent and isinstance(said, Access) else said

    def _unknown(self, said: Access) -> Access:
        """Return what a call may touch of which the plugin says nothing: whatever its tool may."""
        way_out = "anywhere" if "sends" in self.effects else ""
        brings = said.brings if self._tool.effects else frozenset[Taint]({"private", "untrusted"})
        source = said.source or f"plugin:{self._plugin}"
        return msgspec.structs.replace(said, effects=self.effects, destination=way_out, brings=brings, source=source)

    def times_for(self, arguments: Mapping[str, object]) -> CallTimes:
        try:
            return self._tool.times_for(arguments)
        except Exception:
            _log.exception("the plugin %s raised in times_for", self._plugin)
            return CallTimes(limits.TOOL_TIME)

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        try:
            return self._tool.shown(arguments)
        except Exception:
            _log.exception("the plugin %s raised in shown", self._plugin)
            return Shown.by_name(self.qualified_name)

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


def _says_something(said: Access) -> bool:
    return bool(said.effects or said.paths or said.command or said.destination)


class GuardedReminders:
    """A plugin's reminders, until it raises."""

    def __init__(self, reminders: PluginReminders, plugin: str, broke: Callable[[Exception], None]) -> None:
        self._reminders: PluginReminders | None = reminders
        self._plugin = plugin
        self._broke = broke

    async def current(self, conversation_id: str, branch: int = 0) -> tuple[Reminder, ...]:
        """Return the reminders; none any more after the plugin broke."""
        if self._reminders is None:
            return ()
        try:
            return self._read(await self._reminders.current(conversation_id))
        except Exception as error:
            self._reminders = None
            self._broke(error)
            return ()

    def _read(self, said: object) -> tuple[Reminder, ...]:
        """Return what a plugin gave; plain text is a reminder in the plugin's own name."""
        if said is None or isinstance(said, str | Reminder):
            said = (said,) if said else ()
        return tuple(self._one(each, place) for place, each in enumerate(said))  # type: ignore[arg-type, var-annotated]

    def _one(self, each: object, place: int) -> Reminder:
        if isinstance(each, str):
            return Reminder(f"{self._plugin} {place + 1}" if place else self._plugin, each)
        if not isinstance(each, Reminder):
            raise TypeError(f"a reminder is text or a Reminder, not {type(each).__name__}")
        return each


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
