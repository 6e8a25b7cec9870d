"""Indexes of packages on loopback, and the servers of a data folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.mcp_hosting import McpHost, open_mcp_host
from tests.support.package_indexes import Indexes, indexes


@pytest_asyncio.fixture
async def index(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Indexes]:
    """An index of npm and PyPI, empty."""
    async with indexes(monkeypatch) as made:
        yield made


@pytest_asyncio.fixture
async def hosted(home: Path, quick: None, index: Indexes) -> AsyncIterator[McpHost]:
    """The servers of a fresh data folder."""
    async with open_mcp_host(home) as opened:
        yield opened
