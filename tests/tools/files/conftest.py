"""A folder to work in, and hands that work in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.files import Hands, hands


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """An empty working directory."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest_asyncio.fixture
async def at_work(home: Path, work: Path) -> AsyncIterator[Hands]:
    """The file tool on the working directory."""
    async with hands(home, work) as opened:
        yield opened
