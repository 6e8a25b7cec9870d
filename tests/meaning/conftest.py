"""A service on each database, with the real model in its own process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.meaning.service import MeaningService
from pilothouse.store.database import Database
from pilothouse.store.opening import open_store
from pilothouse.store.vectors import VectorStore
from pilothouse.types import limits
from pilothouse.types.embeddings import Embeddings


class KeptSecrets:
    """Secrets in memory; implements the port `Secrets`."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[str, str]] = {}

    def put(self, name: str, value: str, origin: str) -> None:
        self.kept[name] = (value, origin)

    def get(self, name: str, origin: str) -> str | None:
        value, given_for = self.kept.get(name, (None, ""))
        assert value is None or given_for == origin
        return value

    def delete(self, name: str) -> None:
        self.kept.pop(name, None)

    def origin_of(self, name: str) -> str | None:
        return self.kept[name][1] if name in self.kept else None

    def confirm(self, name: str, origin: str) -> None:
        self.kept[name] = (self.kept[name][0], origin)

    def settle(self, name: str, value: str, origin: str) -> str:
        return self.kept.setdefault(name, (value, origin))[0]


class Chosen:
    """The settings as a person has them at the moment."""

    def __init__(self) -> None:
        self.embeddings = Embeddings()


@pytest.fixture
def secrets() -> KeptSecrets:
    return KeptSecrets()


@pytest.fixture
def chosen() -> Chosen:
    return Chosen()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest_asyncio.fixture
async def database(tmp_path: Path, database_url: str | None) -> AsyncIterator[Database]:
    opened = open_store(tmp_path, database_url, lambda _id, _events: None)
    yield opened.database
    await opened.close()


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for vectors as long as a busy machine takes."""
    monkeypatch.setattr(limits, "MEANING_MOMENT", 60.0)


Make = Callable[[], MeaningService]


@pytest_asyncio.fixture
async def make(database: Database, chosen: Chosen, secrets: KeptSecrets, tmp_path: Path) -> AsyncIterator[Make]:
    """Return what makes a service; all that were made are closed."""
    made: list[MeaningService] = []

    def new() -> MeaningService:
        made.append(MeaningService(VectorStore(database), lambda: chosen.embeddings, secrets, tmp_path / "vectors"))
        return made[-1]

    yield new
    for each in made:
        await each.close()


@pytest.fixture
def service(make: Make) -> MeaningService:
    return make()
