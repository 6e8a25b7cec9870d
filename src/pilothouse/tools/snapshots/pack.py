"""Contents one after the other in a file without a name: it is gone with the process, whatever happens."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

# What waits to be written; what is larger than a part of it does not wait.
_BUFFER = 1024 * 1024
_SMALL = _BUFFER // 8
# Where the places of contents begin that another process wrote.
_BESIDE = 1 << 48


class Pack:
    """Keeps contents; each is known by its place and its length."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - held as long as this is
        # What another process wrote, and how much of it counts.
        self._beside: BinaryIO | None = None
        self._beside_bytes = 0
        self._waiting = memoryview(bytearray(_BUFFER + 1))
        # What is in the file, and with what waits.
        self._written = self.end = 0

    def close(self) -> None:
        """Let go of all of it."""
        self._file.close()
        if self._beside is not None:
            self._beside.close()

    @property
    def size(self) -> int:
        """Return how much is kept."""
        return self.end + self._beside_bytes

    def beside(self) -> int:
        """Make a file into which another process writes contents, and return its descriptor."""
        self._beside = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 - held as long as this is
        return self._beside.fileno()

    def from_beside(self, at: int, length: int) -> int:
        """Take over a content that another process wrote; return its place."""
        self._beside_bytes += length
        return _BESIDE + at

    def take(self, descriptor: int, size: int) -> int:
        """Keep what an open file has; return its place, or -1 if it has not this size or cannot be read.

        Raise OSError when the disk is full: all but this one is kept still.
        """
        filled = self.end - self._written
        if filled + size > _BUFFER:
            self.flush()
            filled = 0
        if size > _SMALL:
            return self._take_large(descriptor, size)
        try:
            # One byte more would be a file that is longer.
            if os.readv(descriptor, (self._waiting[filled : filled + size + 1],)) != size:
                return -1
        except OSError:
            return -1
        at, self.end = self.end, self.end + size
        return at

    def _take_large(self, descriptor: int, size: int) -> int:
        try:
            content = os.read(descriptor, size + 1)
        except OSError:
            return -1
        return self.add(content) if len(content) == size else -1

    def add(self, content: bytes) -> int:
        """Keep a content; return its place. Raise OSError when the disk is full: all but this one is kept still."""
        if self.end - self._written + len(content) > _BUFFER:
            self.flush()
        at, filled = self.end, self.end - self._written
        if len(content) > _SMALL:
            self.flush()
            self._write(memoryview(content))
        else:
            self._waiting[filled : filled + len(content)] = content
        self.end = at + len(content)
        return at

    def flush(self) -> None:
        """Write what waits; raise OSError when the disk is full, and it waits on."""
        self._write(self._waiting[: self.end - self._written])

    def _write(self, rest: memoryview) -> None:
        at = self._written
        while rest:
            written = os.pwrite(self._file.fileno(), rest, at)
            rest, at = rest[written:], at + written
        self._written = at

    def read(self, at: int, length: int) -> bytes:
        """Return a content."""
        if at >= _BESIDE and self._beside is not None:
            return os.pread(self._beside.fileno(), length, at - _BESIDE)
        with suppress(OSError):
            self.flush()
        if at < self._written:
            return os.pread(self._file.fileno(), length, at)
        return bytes(self._waiting[at - self._written : at - self._written + length])
