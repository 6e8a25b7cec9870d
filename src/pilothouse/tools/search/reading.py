"""One file after another into the same memory: regular files only, and only those that hold text."""

from __future__ import annotations

import os
import stat

from pilothouse.tools.files.places import PathRefused
from pilothouse.tools.files.walk import Folder
from pilothouse.types import limits

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# Most files fit; a larger one gets memory of its own for as long as it is looked at.
_USUAL = 1024 * 1024


class Reader:
    """Reads files by their folder's descriptor. What it holds is good until the next one is read."""

    def __init__(self) -> None:
        self._usual = bytearray(_USUAL)
        self.buffer = self._usual
        self.size = 0
        self.stat: os.stat_result | None = None

    def read(self, folder: int, name: str, most: int = limits.SEARCH_FILE_BYTES) -> bool:
        """Read a file; return whether there is text in it. `stat` is None when it is no file that can be read."""
        self.size, self.stat = 0, None
        try:
            descriptor = os.open(name, _FILE, dir_fd=folder)
        except OSError:
            return False
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return False
            self.stat = found
            if found.st_size > most:
                return False
            self.buffer = self._usual if found.st_size <= _USUAL else bytearray(found.st_size)
            self.size = _fill(descriptor, self.buffer, found.st_size)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return self.buffer.find(0, 0, self.size) < 0

    def read_below(self, top: Folder, path: str) -> bool:
        """Read a file of an index, by its way from the top; return whether there is text in it."""
        prefix, _, name = path.rpartition("/")
        try:
            with top.descend(tuple(prefix.split("/")) if prefix else ()) as folder:
                return self.read(folder.descriptor, name, limits.INDEX_FILE_BYTES)
        except PathRefused:
            self.size, self.stat = 0, None
            return False

    @property
    def content(self) -> bytes:
        """Return a copy of what was read last."""
        return bytes(memoryview(self.buffer)[: self.size])

    @property
    def too_large(self) -> bool:
        """Return whether the file was passed over for its size."""
        return self.stat is not None and self.stat.st_size > 0 and self.size == 0

    @property
    def identity(self) -> tuple[int, int]:
        """Return the device and inode of the file that was read last."""
        return (0, 0) if self.stat is None else (self.stat.st_dev, self.stat.st_ino)


def _fill(descriptor: int, buffer: bytearray, expected: int) -> int:
    """Read as much as there should be; a file that grows meanwhile is cut, one that shrinks is shorter."""
    size = os.readv(descriptor, (buffer,))
    view = memoryview(buffer)
    while 0 < size < expected:
        more = os.readv(descriptor, (view[size:],))
        if not more:
            break
        size += more
    return size
