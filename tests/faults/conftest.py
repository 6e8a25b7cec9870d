"""The order of the faults: what takes longest begins first, so that no worker is left alone with it."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by how long a test may take."""
    items.sort(key=lambda item: max((mark.args[0] for mark in item.iter_markers("timeout")), default=0), reverse=True)
