"""The order of the faults, what takes longest first, so that no worker is left alone with it; and a disk to watch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests.faults import unsynced_disk
from tests.support import forked

# What takes many times as long as the rest: it waits for clocks, by itself or for servers to be taken for dead.
LONGEST = ("test_fleet", "test_mix.py", "test_rolling_upgrade.py", "test_hanging.py")


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
def synced_library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The library that notes what a process makes durable; servers with it are forked from one that has it, too."""
    library = unsynced_disk.compile_library(tmp_path_factory.mktemp("synced"))
    if library is None:
        pytest.fail(unsynced_disk.MISSING, pytrace=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(library))
        forked.prepare()
    yield library
    forked.end()
