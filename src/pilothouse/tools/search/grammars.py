"""Grammars in a process of their own: what a file may break or hold up is that process, and nobody else."""

from __future__ import annotations

import logging
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import TypeVar

import msgspec

from pilothouse.tools.search.grammar_process import LENGTH, Asked, Source
from pilothouse.tools.search.symbols import Symbol
from pilothouse.types import limits

_log = logging.getLogger(__name__)
_PIECE = 256 * 1024
# All that it gets of our environment: it needs no secrets.
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH")
_Definitions = list[list[tuple[str, str, int, int, str]]]
_Answer = TypeVar("_Answer")


class _Lost(Exception):
    """The process ended, or took too long."""


class Grammars:
    """Asks the process; starts it when it is needed. Threads take turns."""

    def __init__(self) -> None:
        self._turns = RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting = False

    @contextmanager
    def turn(self) -> Iterator[Grammars]:
        """Keep others out while several questions are asked; a question left open is given up at the end."""
        with self._turns:
            try:
                yield self
            finally:
                if self._waiting:
                    self._stop()

    def ask_definitions(self, sources: list[Source]) -> None:
        """Ask what files define; the answer is fetched later, before anything else is asked."""
        self._ask(Asked("", sources))

    def definitions(self, sources: list[Source]) -> list[list[Symbol]]:
        """Return what was asked for, file by file; of what is too much for its grammar nothing."""
        rows = self._answer(_Definitions)
        if rows is not None:
            return [[Symbol(*row) for row in each] for each in rows]
        if len(sources) == 1:
            _log.warning("A file was too much for its grammar; it is indexed without symbols.")
            return [[]]
        found = []
        for source in sources:
            self.ask_definitions([source])
            found += self.definitions([source])
        return found

    def roles(self, source: Source, name: str) -> list[str]:
        """Return what a name is at each of its places; nothing when the file is too much for its grammar."""
        with self._turns:
            self._ask(Asked(name, [source]))
            return (self._answer(list[list[str]]) or [[]])[0]

    def close(self) -> None:
        """End the process."""
        with self._turns:
            self._stop()

    def _ask(self, asked: Asked) -> None:
        data = msgspec.msgpack.encode(asked)
        process = self._started()
        self._waiting = True
        try:
            _write(process, LENGTH.pack(len(data)) + data)
        except OSError:
            # It will be noticed when the answer does not come.
            return

    def _answer(self, kind: type[_Answer]) -> _Answer | None:
        process, self._waiting = self._process, False
        try:
            if process is None:
                raise _Lost
            until = time.monotonic() + limits.GRAMMAR_TIME
            (length,) = LENGTH.unpack(_read(process, LENGTH.size, until))
            return msgspec.msgpack.decode(_read(process, length, until), type=kind)
        except _Lost:
            self._stop()
            return None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            command = [sys.executable, "-P", "-m", "pilothouse.tools.search.grammar_process"]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                bufsize=0,
            )
        return self._process

    def _stop(self) -> None:
        self._waiting = False
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _write(process: subprocess.Popen[bytes], data: bytes) -> None:
    if process.stdin is not None:
        view = memoryview(data)
        while view:
            view = view[os.write(process.stdin.fileno(), view) :]


def _read(process: subprocess.Popen[bytes], size: int, until: float) -> bytes:
    data, poll = bytearray(), select.poll()
    if process.stdout is not None:
        poll.register(process.stdout, select.POLLIN)
    while process.stdout is not None and len(data) < size:
        if not poll.poll(max(0.0, until - time.monotonic()) * 1_000):
            raise _Lost
        piece = os.read(process.stdout.fileno(), min(_PIECE, size - len(data)))
        if not piece:
            raise _Lost
        data += piece
    return bytes(data)
