"""What remembers, put together; most of it is loaded where there is something to remember."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pilothouse.memory.recent import RecentMemories
from pilothouse.memory.reminding import Offering, StoredReminders
from pilothouse.types.lazy import Lazy
from pilothouse.types.meaning import Meaning
from pilothouse.wiring.foundation import Foundation

if TYPE_CHECKING:
    from pilothouse.memory.keeping import Keeper
    from pilothouse.memory.offers import Offers
    from pilothouse.memory.searching import MemorySearcher
    from pilothouse.memory.service import MemoryService


class Remembering:
    """Memories for tools, for reminders and for people."""

    def __init__(self, base: Foundation, meaning: Meaning) -> None:
        self._base = base
        self._meaning = meaning
        self.recent = RecentMemories(base.opened.store)
        self._searcher = Lazy(self._make_searcher)
        self.keeper = Lazy(self._make_keeper)
        self.service = Lazy(self._make_service)
        self.stored = StoredReminders(self.recent)
        self.recall = Offering(base.opened.store, Lazy(self._make_offers))

    def _make_searcher(self) -> MemorySearcher:
        from pilothouse.memory.searching import MemorySearcher

        return MemorySearcher(self._base.opened.store, self._meaning)

    def _make_keeper(self) -> Keeper:
        from pilothouse.memory.keeping import Keeper

        store, redact = self._base.opened.store, self._base.redactor.redact
        return Keeper(store, store, self.recent, self._searcher(), redact)

    def _make_offers(self) -> Offers:
        from pilothouse.memory.offers import Offers

        return Offers(self._searcher())

    def _make_service(self) -> MemoryService:
        from pilothouse.memory.service import MemoryService

        config = self._base.config
        return MemoryService(self._base.opened.store, self.keeper(), lambda: config.config)
