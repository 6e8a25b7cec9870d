"""Servers for tests: real processes that do as they are told."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pilothouse.types import limits
from pilothouse.types.servers import ServerInput
from tests.support.mcp_hosting import McpHost, open_mcp_host
from tests.support.mcp_servers import SCRIPTED

Scripted = Callable[..., ServerInput]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits that a test need not wait for."""
    monkeypatch.setattr(limits, "LOCAL_BACKOFF", (0.05, 0.05, 0.05))
    monkeypatch.setattr(limits, "REMOTE_BACKOFF", (0.05, 0.05, 0.05, 0.05))
    monkeypatch.setattr(limits, "LEARN_DELAY", 0.01)
    monkeypatch.setattr(limits, "RELIST_EVERY", 0.05)


@pytest.fixture
def often_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Health checks that come at once."""
    monkeypatch.setattr(limits, "HEALTH_EVERY", 0.05)


@pytest.fixture
def scripted() -> Scripted:
    """Return a server that does as its options say."""

    def make(*options: str, name: str = "Scripted", **more: Any) -> ServerInput:
        return ServerInput(name=name, command=sys.executable, args=(str(SCRIPTED), *options), **more)

    return make


@pytest_asyncio.fixture
async def hosted(home: Path, quick: None) -> AsyncIterator[McpHost]:
    """The servers of a fresh data folder."""
    async with open_mcp_host(home) as opened:
        yield opened
