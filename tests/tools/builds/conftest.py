"""A repository with one commit, and the tool on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.helper.client import Helper
from tests.support.repositories import building, make_repository
from tests.support.terminals import AtTerminal


@pytest.fixture
def helper() -> Iterator[Helper]:
    with closing(Helper()) as made:
        yield made


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "work", readme__md="Hello\n", old__txt="old\n")


@pytest_asyncio.fixture
async def builds(home: Path, work: Path) -> AsyncIterator[AtTerminal]:
    async with building(home, work) as hands:
        yield hands
