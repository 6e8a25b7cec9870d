"""A folder to work in, and file_calls that work in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.support.files import FileCalls, open_file_tool


@pytest_asyncio.fixture
async def at_work(home: Path, work: Path) -> AsyncIterator[FileCalls]:
    """The file tool on the working directory."""
    async with open_file_tool(home, work) as opened:
        yield opened
