"""A store on each database, with everything it publishes written down."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.store import Store
from pilothouse.types.feed import FeedEvent


class Published(list[tuple[str, FeedEvent]]):
    """What the store published, in order."""

    def take(self, conversation_id: str, events: Sequence[FeedEvent]) -> None:
        self.extend((conversation_id, event) for event in events)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def published() -> Published:
    return Published()


@pytest_asyncio.fixture
async def opened(tmp_path: Path, database_url: str | None, published: Published) -> AsyncIterator[OpenStore]:
    store = open_store(tmp_path, database_url, published.take)
    yield store
    await store.close()


@pytest.fixture
def store(opened: OpenStore) -> Store:
    return opened.store
