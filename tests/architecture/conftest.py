"""What is read of the sources, once for all rules."""

from __future__ import annotations

import pytest

from scripts import checklist


@pytest.fixture(scope="session")
def proofs() -> dict[str, list[str]]:
    """The tests that name each row."""
    return checklist.proofs()
