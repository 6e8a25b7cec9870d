"""The order of the faults, what takes longest first, so that no worker is left alone with it; and a disk to watch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import synced


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by how long a test may take."""
    items.sort(key=lambda item: max((mark.args[0] for mark in item.iter_markers("timeout")), default=0), reverse=True)


@pytest.fixture(scope="session")
def synced_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that notes what a process makes durable."""
    library = synced.compiles(tmp_path_factory.mktemp("synced"))
    if library is None:
        pytest.fail(synced.MISSING, pytrace=False)
    return library
