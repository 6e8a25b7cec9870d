"""A folder to search, and a tool that searches it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.support.search_tool import SearchCalls, open_search_tool


@pytest_asyncio.fixture
async def search(home: Path, work: Path) -> AsyncIterator[SearchCalls]:
    """The searches on the working directory."""
    async with open_search_tool(home, work) as opened:
        yield opened
    assert not [thread for thread in threading.enumerate() if thread.name == "index"]
