"""Scripts for the scripted model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Script = Callable[[str], str]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Write a script and return the model that speaks it."""

    def write(text: str) -> str:
        path = tmp_path / "script.yaml"
        path.write_text(text, encoding="utf-8")
        return f"scripted:{path}"

    return write
