"""What all tests of the wires share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.wires.judging import Judge, judging


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    """The makers' SDKs, in a process of their own."""
    with judging() as judge:
        yield judge
