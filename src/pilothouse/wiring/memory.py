"""What remembers, put together."""

from __future__ import annotations

from pilothouse.memory.keeping import Keeper
from pilothouse.memory.recent import RecentMemories
from pilothouse.memory.reminding import Offering, StoredReminders
from pilothouse.memory.searching import MemorySearcher
from pilothouse.types.host_memories import Memories
from pilothouse.types.lazy import Lazy
from pilothouse.types.meaning import Meaning
from pilothouse.wiring.foundation import Foundation


class Remembering:
    """Memories for tools, for reminders and for people."""

    def __init__(self, base: Foundation, meaning: Meaning) -> None:
        store, config = base.opened.store, base.config
        self.recent = RecentMemories(store)
        searcher = MemorySearcher(store, meaning)
        self.keeper = Keeper(store, store, self.recent, searcher, base.redactor.redact)
        self.stored = StoredReminders(self.recent)
        self.recall = Offering(store, searcher)

        def service() -> Memories:
            from pilothouse.memory.service import MemoryService

            return MemoryService(store, self.keeper, lambda: config.config)

        self.service = Lazy(service)
