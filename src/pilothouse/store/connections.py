"""The connections to a database elsewhere: which there are, and how they are cut when it does not answer.

A thread that waits in the driver cannot be told to stop. But it wakes up when its connection ends, so that is what
we end: from outside, while the driver still waits on it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pilothouse.types.errors import PilothouseError

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection


class Connections:
    """All connections of a process to its database, and whether anyone answers on them."""

    def __init__(self) -> None:
        # What the database calls them: whoever takes this process for dead ends them by it.
        self.name = f"pilothouse {os.urandom(8).hex()}"
        self._open: WeakSet[Connection[Any] | AsyncConnection[Any]] = WeakSet()
        self._lock = threading.Lock()
        # Set while the database is known to hang: nobody begins to wait for it then.
        self.silent = False
        # How often something asked of the database failed; whoever watches over this process looks at it.
        self.failures = 0

    def add(self, connection: Connection[Any] | AsyncConnection[Any], _record: object = None) -> None:
        """Know of a connection from now on."""
        with self._lock:
            self._open.add(connection)

    def cut(self) -> None:
        """End all connections under those who wait on them."""
        with self._lock:
            for connection in list(self._open):
                hang_up(connection)

    def check(self) -> None:
        """Raise what a person is told while the database hangs."""
        if self.silent:
            raise hanging()


class Callers:
    """Who works on a database in a thread of their own: each enters first, and after the end nobody does any more."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._inside = 0
        self._ended = False

    def __enter__(self) -> None:
        with self._change:
            if self._ended:
                raise PilothouseError("cancelled", "Pilothouse is stopping.")
            self._inside += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._change:
            self._inside -= 1
            self._change.notify_all()

    def end(self) -> None:
        """Let nobody in, and wait until all are out."""
        with self._change:
            self._ended = True
            self._change.wait_for(lambda: not self._inside)


def hang_up(connection: Connection[Any] | AsyncConnection[Any]) -> None:
    """End a connection, whoever waits on it."""
    # Closed meanwhile, or broken: nobody waits there. The driver's own errors differ, and importing it takes long.
    with contextlib.suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as own:
        own.shutdown(socket.SHUT_RDWR)


def hanging() -> PilothouseError:
    """Return what a person is told."""
    return PilothouseError(
        "database",
        "The database does not answer.",
        fix="Check that PostgreSQL runs and can be reached; work then goes on by itself.",
    )
