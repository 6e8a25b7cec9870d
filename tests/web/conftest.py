"""A real server on a real socket for every test, over a host of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.web.servers import RunningServer, run_server


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunningServer]:
    """A server that answers, and is asked to stop when the test is done."""
    async with run_server(tmp_path) as running:
        yield running
