"""A store on each database, and what remembers over it."""

from __future__ import annotations

import pytest

from pilothouse.store.store import Store
from tests.memory.services import MemoryServices, open_memory
from tests.store.conftest import database_url, opened, published, store

__all__ = ["database_url", "opened", "published", "store"]


@pytest.fixture
def remembered(store: Store) -> MemoryServices:
    """Memories where words of a group mean the same."""
    return open_memory(store, "local", "other")
