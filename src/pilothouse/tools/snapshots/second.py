"""A second process for the first look at a large folder: most of that look is waiting for the system, file by file.

Threads gain nothing there, since each of these short calls hands Python's lock to the other.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pilothouse.tools.snapshots import second_process
from pilothouse.tools.snapshots.second_process import AT_ONCE, FOUND, LARGEST, LENGTH
from pilothouse.types import limits

# Files that are asked for and not answered yet: enough that it never waits for the next question.
_WAITING = 2 * AT_ONCE
# What all of these can be together.
ROOM = (_WAITING + AT_ONCE) * LARGEST
_PIECE = 64 * 1024
_NEEDED_CORES = 2
_ENVIRONMENT = ("PYTHONHOME", "LD_LIBRARY_PATH")


class Files(NamedTuple):
    """Files in one folder: the way to it with a slash at its end, and their names."""

    prefix: str
    names: Sequence[str]


class Facts(NamedTuple):
    """A file that the second process has read."""

    mode: int
    size: int
    changed: int
    touched: int
    inode: int
    names: int
    # Where its content begins.
    at: int


class Second:
    """Asks a second process for files, a few at a time. One that breaks or hangs gives them back."""

    def __init__(self, kept: Callable[[], int]) -> None:
        """`kept` makes the file for contents, and returns its descriptor."""
        self._kept = kept
        # Files that were offered before it is started: few are read sooner without it.
        self._offered = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._asked: deque[Files] = deque()
        self._waiting = 0
        # Whether it has said anything: until then it may be starting.
        self._is_there = False
        self._got = bytearray()

    def takes(self, folder: int, files: Files) -> bool:
        """Ask for files of an open folder; return False where it is not there or has enough to do."""
        before, self._offered = self._offered, self._offered + len(files.names)
        if before <= limits.SECOND_AFTER < self._offered:
            self._start()
        if self._socket is None or self._waiting + len(files.names) > _WAITING:
            return False
        names = b"\0".join(map(os.fsencode, files.names))
        message = LENGTH.pack(len(names)) + names
        try:
            sent = socket.send_fds(self._socket, [message], [folder], socket.MSG_DONTWAIT)
        except OSError:
            sent = 0
        if sent != len(message):
            # It would wait for the rest of the question.
            self._hang_up()
            return False
        self._asked.append(files)
        self._waiting += len(files.names)
        return True

    def _start(self) -> None:
        if cores() < _NEEDED_CORES:
            return
        ours, other = socket.socketpair()
        with other:
            try:
                kept = self._kept()
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", second_process.__file__, str(other.fileno()), str(kept)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                    pass_fds=(other.fileno(), kept),
                )
            except OSError:
                ours.close()
                return
        self._socket = ours

    def answered(self, wait: float = 0.0) -> Iterator[tuple[Files, list[Facts | None]]]:
        """Yield what was answered by now: of each file what it is, or None if it is left to us."""
        self._receive(wait)
        head = LENGTH.size
        while len(self._got) >= head and len(self._got) >= (end := head + LENGTH.unpack_from(self._got)[0]):
            found = FOUND.iter_unpack(self._got[head:end])
            answer = [Facts(*each) if each[0] else None for each in found]
            del self._got[:end]
            files, self._is_there = self._asked.popleft(), True
            self._waiting -= len(files.names)
            yield files, answer

    def last(self, until: float) -> Iterator[tuple[Files, list[Facts | None]]]:
        """Yield the rest, waiting for it no longer than until then; one that has said nothing yet is not waited for."""
        yield from self.answered()
        while self._asked and self._is_there and self._socket is not None:
            if (left := until - time.monotonic()) <= 0:
                return
            yield from self.answered(left)

    def left(self) -> list[Files]:
        """Return what was asked for and never answered."""
        return list(self._asked)

    def _receive(self, wait: float) -> None:
        if self._socket is None:
            return
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        if not poll.poll(wait * 1_000):
            return
        try:
            data = self._socket.recv(_PIECE, socket.MSG_DONTWAIT)
        except OSError:
            data = b""
        self._got += data
        if not data:
            self._hang_up()

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def close(self) -> None:
        """End it, whatever it is at."""
        self._hang_up()
        if self._process is None:
            return
        self._process.kill()
        # One that hangs in the system ends when the system lets it.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(limits.SECOND_END_TIME)


def cores() -> int:
    """Return how many cores we may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
