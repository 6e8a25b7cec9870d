"""Which process has an index, and which indexes nobody has had for long."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from pilothouse.types import limits


def take_lock(file: Path) -> int | None:
    """Return a descriptor that holds an index as long as it is open; None when another process has it."""
    lock = os.open(file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    # When it was used last.
    os.utime(lock)
    return lock


def forget_old(folder: Path) -> None:
    """Delete the indexes that nobody has used for long; they can be made again."""
    before = time.time() - limits.INDEX_DAYS * 86_400
    for file in folder.glob("*.sqlite"):
        mark = file.with_suffix(".lock")
        if mark.exists() and mark.stat().st_mtime > before:
            continue
        lock = take_lock(file)
        if lock is None:
            continue
        for each in (file, *(file.with_name(file.name + ending) for ending in ("-wal", "-shm")), mark):
            each.unlink(missing_ok=True)
        os.close(lock)
