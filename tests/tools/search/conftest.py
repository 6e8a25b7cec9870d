"""A folder to search, and a tool that searches it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.searching import Searcher, searcher


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """An empty working directory."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest_asyncio.fixture
async def search(home: Path, work: Path) -> AsyncIterator[Searcher]:
    """The searches on the working directory."""
    async with searcher(home, work) as opened:
        yield opened
    assert not [thread for thread in threading.enumerate() if thread.name == "index"]
