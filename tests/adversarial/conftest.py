"""A server and a sandbox to attack, and programs that are found before others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pilothouse.tools.sandbox.sandbox import Sandbox
from tests.support.in_process_server import server
from tests.support.terminals import sandbox

__all__ = ["earlier_program", "held", "server"]


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Sandbox]:
    """Bubblewrap, with a data folder that it hides."""
    data = tmp_path / "data"
    data.mkdir()
    made = sandbox(data, "bubblewrap")
    yield made
    made.close()


def earlier_program(tmp_path: Path, name: str) -> Path:
    """Write a program of this name to a folder of its own, which may be named before others; return the folder."""
    folder = tmp_path / "earlier"
    folder.mkdir()
    (folder / name).write_text("#!/bin/sh\nevil\n")
    (folder / name).chmod(0o755)
    return folder
