"""Everything about connections is tried on every event loop that it may run on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping

import pytest

Loops = Mapping[str, Callable[[], asyncio.AbstractEventLoop]]


def loops() -> Loops:
    """Return the loops that there are here, by name."""
    if sys.platform == "win32":
        return {"asyncio": asyncio.new_event_loop}
    import uvloop

    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Loops:
    """Run each test on each loop."""
    return loops()


@pytest.fixture(scope="session", autouse=True)
def kept_by_loops() -> None:
    """Make and close one of each: with its first loop a library opens what it keeps for good."""
    for new_loop in loops().values():
        new_loop().close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the loop that the product prefers not to use out of the quick run, where there is another."""
    for item in items:
        if "tests/net/" in item.nodeid and "[asyncio" in item.nodeid and len(loops()) > 1:
            item.add_marker(pytest.mark.slow)
