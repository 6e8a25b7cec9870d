"""Small file systems in memory, to fill."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mount_small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Make a folder a file system of this size, where this account may; nothing in it is open at the end."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("only root may make a file system; the page limit shows the same")
    try:
        yield folder
    finally:
        ended = subprocess.run(["umount", folder], capture_output=True, text=True, check=False)
        if ended.returncode:
            # Left there, it would be in the way of the tests after this one.
            subprocess.run(["umount", "--lazy", folder], check=True)
    assert not ended.returncode, ended.stderr
