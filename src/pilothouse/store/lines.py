"""The connections to a database elsewhere: which there are, and how they are cut when it does not answer.

A thread that waits in the driver cannot be told to stop. But it wakes up when its connection ends, so that is what
we end: from outside, while the driver still waits on it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from typing import Protocol
from weakref import WeakSet

from pilothouse.types.errors import PilothouseError


class Line(Protocol):
    """A driver's connection."""

    def fileno(self) -> int:
        """Return its socket's descriptor; raise when it is closed."""
        ...


class Lines:
    """All connections of a process to its database, and whether anyone answers on them."""

    def __init__(self) -> None:
        self._open: WeakSet[Line] = WeakSet()
        self._lock = threading.Lock()
        # Set while the database is known to hang: nobody begins to wait for it then.
        self.silent = False

    def add(self, line: Line, _record: object = None) -> None:
        """Know of a connection from now on."""
        with self._lock:
            self._open.add(line)

    def cut(self) -> None:
        """End all connections under those who wait on them."""
        with self._lock:
            for line in list(self._open):
                hang_up(line)

    def check(self) -> None:
        """Raise what a person is told while the database hangs."""
        if self.silent:
            raise hanging()


def hang_up(line: Line) -> None:
    """End a connection, whoever waits on it."""
    # Closed meanwhile, or broken: nobody waits there. The driver's own errors differ, and importing it takes long.
    with contextlib.suppress(Exception), socket.socket(fileno=os.dup(line.fileno())) as own:
        own.shutdown(socket.SHUT_RDWR)


def hanging() -> PilothouseError:
    """Return what a person is told."""
    return PilothouseError(
        "database",
        "The database does not answer.",
        fix="Check that PostgreSQL runs and can be reached; work then goes on by itself.",
    )
