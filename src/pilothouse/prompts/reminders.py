"""Reminds models of the mini prompts that are on; what words them is loaded where one is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pilothouse.types.lazy import Lazy
from pilothouse.types.todos import Reminder
from pilothouse.types.topics import SettingsNow

if TYPE_CHECKING:
    from pilothouse.types.prompts import PromptSource

NAME = "mini prompts"


class MiniPromptReminders:
    """Reminds of the mini prompts that are on; implements the port `Reminders`."""

    def __init__(self, prompts: Lazy[PromptSource], settings: SettingsNow) -> None:
        self._prompts = prompts
        self._settings = settings

    async def current(self, conversation_id: str, branch: int = 0) -> tuple[Reminder, ...]:
        on = (await self._settings.of(conversation_id)).mini_prompts
        if not on:
            return ()
        from pilothouse.prompts.reminder_text import text_of  # noqa: PLC0415

        found = await self._prompts().usable("mini_prompt", on)
        return (Reminder(NAME, text_of(found)),) if found else ()
