"""One master key for several processes on a database, as an operator gives it to all replicas."""

from __future__ import annotations

from pathlib import Path


def master_key(folder: Path) -> Path:
    """Write a key and return its file."""
    path = folder / "master-of-all.key"
    path.write_text("0123456789abcdef0123456789abcdef")
    path.chmod(0o600)
    return path
