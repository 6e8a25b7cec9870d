"""Files that were passing through while they were read: what a killed process left of them goes."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from pilothouse.types import limits

_PREFIX = "new-"


def new_file(folder: Path) -> Path:
    """Return a new empty file for what is passing, in a folder of its own; old leftovers there are removed."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    sweep(folder)
    descriptor, name = tempfile.mkstemp(prefix=_PREFIX, dir=folder)
    os.close(descriptor)
    return Path(name)


def sweep(folder: Path) -> None:
    """Remove the files that nobody can be reading any more."""
    old = time.time() - limits.DOCUMENT_PASSING_SECONDS
    for path in folder.glob(f"{_PREFIX}*"):
        try:
            if path.stat().st_mtime < old:
                path.unlink(missing_ok=True)
        except OSError:
            # Another process was faster, or it is not ours to remove.
            continue
