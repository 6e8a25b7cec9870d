"""The order of the faults, what takes longest first, so that no worker is left alone with it; and a disk to watch."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from tests.support import synced

# What takes many times as long as the rest: it waits for clocks, by itself or for servers to be taken for dead.
LONGEST = ("test_mix.py", "goes_on_where_it_was[postgresql", "test_an_io_error_at_any_operation")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by how long a test may take, and put a short one behind each of the longest.

    Workers are given two tests at a time, and the second waits for the first: two of the longest must not be those.
    """
    items.sort(key=lambda item: max((mark.args[0] for mark in item.iter_markers("timeout")), default=0), reverse=True)
    longest = [item for part in LONGEST for item in items if part in item.nodeid]
    others = [item for item in items if item not in longest]
    middle = max(0, len(others) - len(longest))
    items[:] = [*chain.from_iterable(zip(longest, others[middle:], strict=False)), *others[:middle]]
    items += longest[len(others) :]


@pytest.fixture(scope="session")
def synced_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that notes what a process makes durable."""
    library = synced.compiles(tmp_path_factory.mktemp("synced"))
    if library is None:
        pytest.fail(synced.MISSING, pytrace=False)
    return library
