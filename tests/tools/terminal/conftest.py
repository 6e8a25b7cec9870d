"""A folder to work in, and a terminal there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.terminals import AtTerminal, at_terminal


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """An empty working directory."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest_asyncio.fixture
async def terminal(home: Path, work: Path) -> AsyncIterator[AtTerminal]:
    """The terminal tool on the working directory, held by what is strongest here."""
    async with at_terminal(home, work) as opened:
        yield opened
