"""How much a conversation may do unasked: who may say so, and until when."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from pilothouse.types import limits
from pilothouse.types.authority import Mode
from pilothouse.types.conversations import Conversation, ConversationSettings


class Modes:
    """Tells the mode that counts now: the one that asks nothing ends with this program, and after some hours."""

    def __init__(self, now: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._steady = steady
        self._began = now()
        # By the time it was chosen: when it ends by a clock that nobody can set back.
        self._ends: dict[float, float] = {}

    def now(self, settings: ConversationSettings) -> Mode:
        """Return the mode that counts."""
        return "ask" if settings.mode == "auto_approve" and not self._stands(settings.mode_since) else settings.mode

    def _stands(self, since: float) -> bool:
        now, steady = self._now(), self._steady()
        left = since + limits.AUTO_APPROVE_SECONDS - now
        if not self._began <= since <= now or left <= 0:
            return False
        return steady < self._ends.setdefault(since, steady + left)

    def shown(self, conversation: Conversation) -> Conversation:
        """Return a conversation with the mode that counts, for people to see."""
        settings = conversation.settings
        if self.now(settings) == settings.mode:
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
