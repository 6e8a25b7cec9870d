"""What conversations are set to, for whoever needs to know at every request of a model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from pilothouse.types import limits
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.feed import FeedEvent
from pilothouse.types.records import Records


class CachedSettings:
    """Settings as they are now; implements the port `SettingsNow`. The database is asked once after each change."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._known: OrderedDict[str, ConversationSettings] = OrderedDict()
        # How often something changed: what was read before that is not remembered after it.
        self._changes = 0

    async def of(self, conversation_id: str) -> ConversationSettings:
        known = self._known.get(conversation_id)
        if known is None:
            changes = self._changes
            known = await self._records.settings(conversation_id)
            if changes == self._changes:
                self._known[conversation_id] = known
                if len(self._known) > limits.SETTINGS_KEPT:
                    self._known.popitem(last=False)
        return known

    def heard(self, conversation_id: str, events: Sequence[FeedEvent]) -> None:
        """Look again after this process changed a conversation."""
        if any(event.kind == "conversation.updated" for event in events):
            self.forget(conversation_id)

    def forget(self, conversation_id: str | None = None) -> None:
        """Look again: another process wrote to a conversation, or perhaps to any."""
        self._changes += 1
        if conversation_id is None:
            self._known.clear()
        else:
            self._known.pop(conversation_id, None)
