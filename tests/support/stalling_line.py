"""A proxy before a database that can be made to hang: connections stay open, and nothing comes through."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


class StallingLine:
    """Passes bytes on between whoever connects and a port of this machine, until it is told to hold them."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._going = threading.Event()
        self._going.set()
        # Whether nobody is let in.
        self._is_cut = False
        # Whether the next answer is lost, and its connection with it.
        self.loses_answers = False
        # How often whoever connected said something after an answer: each is a round trip.
        self.said = 0
        # Who spoke last on a connection.
        self._spoke: dict[frozenset[socket.socket], socket.socket] = {}
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept)

    def stall(self) -> None:
        """Let nothing through any more; connections stay open, and new ones are taken."""
        self._going.clear()

    def go_on(self) -> None:
        """Let everything through again, what was held first."""
        self._going.set()

    def cut(self) -> None:
        """End all connections, and end new ones at once."""
        self._is_cut = True
        for end in [*self._ends]:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Let new connections through again."""
        self._is_cut = False

    def _start(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._is_cut:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._to))
                self._ends += [near, far]
                self._start(self._pass, near, far, 1)
                self._start(self._pass, far, near, 0)

    def _pass(self, source: socket.socket, target: socket.socket, counted: int) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._count(source, target, counted)
                self._going.wait()
                if self.loses_answers and not counted:
                    break
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _count(self, source: socket.socket, target: socket.socket, counted: int) -> None:
        both = frozenset((source, target))
        if self._spoke.get(both) is not source:
            self._spoke[both] = source
            self.said += counted

    def close(self) -> None:
        """End all connections."""
        for end in (self._listener, *self._ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self.go_on()
        for thread in self._threads:
            thread.join(5)
        for end in (self._listener, *self._ends):
            end.close()


@contextlib.contextmanager
def open_stalling_line(url: str) -> Iterator[tuple[StallingLine, str]]:
    """Put such a line before a database; give it, and the URL that leads through it."""
    authority, _, name = url.rpartition("/")
    host, _, port = authority.rpartition(":")
    line = StallingLine(int(port))
    try:
        yield line, f"{host}:{line.port}/{name}"
    finally:
        line.close()
