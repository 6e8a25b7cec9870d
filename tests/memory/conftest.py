"""A store on each database, and what remembers over it."""

from __future__ import annotations

import pytest

from pilothouse.store.store import Store
from tests.store.conftest import database_url, opened, published, store
from tests.support.memories import Remembered, remembering

__all__ = ["database_url", "opened", "published", "store"]


@pytest.fixture
def remembered(store: Store) -> Remembered:
    """Memories where words of a group mean the same."""
    return remembering(store, "local", "other")
