"""Paths as people write them."""

from __future__ import annotations

from pathlib import Path


def at_home(path: str | Path) -> Path:
    """Return a path with the home folder that it names; in the home of nobody it stays as it is written."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
