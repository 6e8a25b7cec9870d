"""A lock between processes that write the same file."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

# How often a taken lock is tried again; a write takes a few milliseconds.
_RETRY = 0.01


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`; the system frees it even when the process is killed."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        deadline = time.monotonic() + limits.FILE_LOCK_TIMEOUT
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                message = f"Another process has been holding {path.name} for too long."
                raise PilothouseError("data_locked", message, fix="Close the other Pilothouse and try again.")
            time.sleep(_RETRY)
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
