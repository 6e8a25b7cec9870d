"""The second process of a first look: reads the files that it is asked for, and writes their contents into one file.

It is started by its file and imports little, so that it is there soon. It ends when nobody asks any more.
"""

from __future__ import annotations

import os
import signal
import socket
import stat
import struct
import sys
from collections.abc import Sequence

# Before the names of a question, and before the files of an answer: how many bytes follow.
LENGTH = struct.Struct(">I")
# A file as it was found: its mode, size, times, number, how many names it has, and where its content begins.
FOUND = struct.Struct(">IQqqQQQ")
# Another one reads it: it is large, gone, being written to, or no file.
NOTHING = FOUND.pack(0, 0, 0, 0, 0, 0, 0)
# Files of up to this size are read here.
LARGEST = 32 * 1024
# So many names are asked for at once.
AT_ONCE = 128
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Reader:
    """Reads files, and keeps their contents one after the other."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._buffer = memoryview(bytearray(AT_ONCE * LARGEST + 1))
        self._filled = self._end = 0

    def read(self, folder: int, names: Sequence[bytes]) -> bytes:
        """Return what files of an open folder are; their contents are in the file by then."""
        found = b"".join([self._read(folder, name) for name in names])
        rest = self._buffer[: self._filled]
        while rest:
            written = os.pwrite(self._kept, rest, self._end)
            rest, self._end = rest[written:], self._end + written
        self._filled = 0
        return found

    def _read(self, folder: int, name: bytes) -> bytes:
        try:
            descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
        except OSError:
            return NOTHING
        try:
            facts = os.fstat(descriptor)
            size, filled = facts.st_size, self._filled
            if size > LARGEST or not stat.S_ISREG(facts.st_mode):
                return NOTHING
            # One byte more would be a file that is longer.
            if os.readv(descriptor, (self._buffer[filled : filled + size + 1],)) != size:
                return NOTHING
        except OSError:
            return NOTHING
        finally:
            os.close(descriptor)
        self._filled += size
        return FOUND.pack(
            facts.st_mode,
            size,
            facts.st_mtime_ns,
            facts.st_ctime_ns,
            facts.st_ino,
            facts.st_nlink,
            self._end + filled,
        )


def serve(asked: socket.socket, reader: Reader) -> None:
    """Answer until there are no more questions."""
    while True:
        head, folders, _flags, _from = socket.recv_fds(asked, LENGTH.size, 1)
        if not head:
            return
        names = asked.recv(LENGTH.unpack(head)[0], socket.MSG_WAITALL)
        found = reader.read(folders[0], names.split(b"\0"))
        os.close(folders[0])
        asked.sendall(LENGTH.pack(len(found)) + found)


if __name__ == "__main__":
    # Who started it decides when it ends, not the keyboard.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(socket.socket(fileno=int(sys.argv[1])), Reader(int(sys.argv[2])))
