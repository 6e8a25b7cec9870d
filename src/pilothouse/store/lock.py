"""One process per SQLite folder: a lock that dies with its holder and says who holds it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from pilothouse.types.errors import PilothouseError


class FolderLock:
    """An exclusive lock on a data folder, held until `release` or the end of the process."""

    def __init__(self, folder: Path, name: str = "lock") -> None:
        self._path = folder / name
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock, or say who has it."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise PilothouseError(
                "data_locked",
                f"Another Pilothouse (process {holder}) is using {self._path.parent}.",
                fix="Use that one, stop it, or set PILOTHOUSE_HOME to another folder.",
            ) from None
        # On a full disk the lock holds all the same; only who holds it is not told.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        self._descriptor = descriptor

    def holder(self) -> str:
        """Return in a sentence who has the folder, empty when nobody does."""
        try:
            self.acquire()
        except PilothouseError as error:
            return error.message
        self.release()
        return ""

    def release(self) -> None:
        """Give the lock back."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None
