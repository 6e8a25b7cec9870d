"""A folder to work in, and a terminal there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.support.terminals import TerminalCalls, open_terminal_tool


@pytest_asyncio.fixture
async def terminal(home: Path, work: Path) -> AsyncIterator[TerminalCalls]:
    """The terminal tool on the working directory, held by what is strongest here."""
    async with open_terminal_tool(home, work) as opened:
        yield opened
