"""Files of ours that last: after a power cut there is the old content or the new, and what was said to be kept is."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def replace(path: Path, data: bytes, *, durable: bool = True, unless: Callable[[], bool] = lambda: False) -> bool:
    """Write a file so that a reader, or a crash, finds the old content or the new, and only we can read it.

    Return False, with nothing changed, when `unless` says so at the last moment.
    """
    # A link that leads to itself is an error of the system's, which callers know how to tell.
    with contextlib.suppress(FileNotFoundError):
        path.stat()
    # A person who keeps the file elsewhere, by a link, keeps it there.
    path = Path(os.path.realpath(path))
    # mkstemp makes it with mode 600; in the same folder, so that replacing is one step.
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                sync(file.fileno())
        if unless():
            os.unlink(temporary)
            return False
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if durable:
        sync_names(path.parent)
    return True


def make_folder(path: Path) -> None:
    """Make a folder that only we can look into, and those it is in; one that is there already is fine."""
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in new:
        sync_names(folder.parent)


def sync_names(folder: Path) -> None:
    """Make durable which files a folder has, where the file system can: a new name is not on disk with its file."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            sync(descriptor)
        finally:
            os.close(descriptor)


def take_lock(descriptor: int) -> bool:
    """Lock an open file until it is closed, also by the end of the process; return False when another has it."""
    import fcntl  # noqa: PLC0415

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def free_name(path: Path) -> Path:
    """Return a path that nothing has yet: this one, or the next with a number behind it."""
    free, number = path, 1
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


def sync(descriptor: int) -> None:
    """Make a file durable, in the drive's own cache too."""
    if sys.platform == "darwin":
        # There, fsync leaves it in the drive's cache. Not every file system can do more.
        import fcntl  # noqa: PLC0415

        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)
