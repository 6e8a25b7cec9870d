"""How much a conversation may do unasked: who may say so, and until when."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import msgspec

from pilothouse.types import limits
from pilothouse.types.authority import Mode
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.settings import Settings


async def _nothing_holds() -> bool:
    return False


class Modes:
    """Tells the mode that counts now: the one that asks nothing ends with this program, and after some hours."""

    def __init__(
        self,
        settings: Callable[[], Settings] = Settings,
        is_offline: Callable[[], Awaitable[bool]] = _nothing_holds,
        *,
        now: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        # What the person has set, now, and whether a sandbox keeps commands off the network.
        self._settings = settings
        self._is_offline = is_offline
        self._now = now
        self._steady = steady
        self._began = now()
        # By the time it was chosen: when it ends by a clock that nobody can set back.
        self._ends: dict[float, float] = {}

    async def now(self, settings: ConversationSettings) -> Mode:
        """Return the mode that counts."""
        if settings.mode == "default":
            return await self.default(in_folder=bool(settings.working_directory))
        return "ask" if self.is_over(settings) else settings.mode

    async def default(self, *, in_folder: bool) -> Mode:
        """Return the mode of a conversation in which none was chosen."""
        chosen = self._settings().default_mode
        if chosen != "automatic":
            return chosen
        return "sandboxed" if in_folder and await self._is_offline() else "ask"

    def is_over(self, settings: ConversationSettings) -> bool:
        """Return whether the mode that asks nothing was chosen and has ended since."""
        return settings.mode == "auto_approve" and not self._stands(settings.mode_since)

    def _stands(self, since: float) -> bool:
        now, steady = self._now(), self._steady()
        left = since + limits.AUTO_APPROVE_SECONDS - now
        if not self._began <= since <= now or left <= 0:
            return False
        return steady < self._ends.setdefault(since, steady + left)

    def shown(self, conversation: Conversation) -> Conversation:
        """Return a conversation for people to see: without a mode that is over."""
        settings = conversation.settings
        if not self.is_over(settings):
            return conversation
        return msgspec.structs.replace(conversation, settings=msgspec.structs.replace(settings, mode="ask"))

    def begun(self, settings: ConversationSettings) -> ConversationSettings:
        """Return the settings of a new conversation as the person gave them."""
        return msgspec.structs.replace(settings, mode_since=self._now())

    def changed(self, before: ConversationSettings, after: ConversationSettings) -> ConversationSettings:
        """Return changed settings: a mode that is sent back as it was is not chosen anew."""
        same = (after.mode, after.mode_since) == (before.mode, before.mode_since)
        return msgspec.structs.replace(after, mode_since=before.mode_since if same else self._now())


def harmless(settings: ConversationSettings) -> ConversationSettings:
    """Return settings that a file gave: no file may switch asking off."""
    return msgspec.structs.replace(settings, mode="ask") if settings.mode == "auto_approve" else settings
