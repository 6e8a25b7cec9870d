"""A folder to work in, and file_calls that work in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.files import FileCalls, file_calls


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """An empty working directory."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest_asyncio.fixture
async def at_work(home: Path, work: Path) -> AsyncIterator[FileCalls]:
    """The file tool on the working directory."""
    async with file_calls(home, work) as opened:
        yield opened
