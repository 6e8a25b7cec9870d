"""Asking the helper process; it is started when it is needed, and started anew when something broke it."""

from __future__ import annotations

import logging
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import TypeVar, cast

import msgspec

from pilothouse.helper.process import LENGTH, Answer, Asked, Trouble, work
from pilothouse.types import limits
from pilothouse.types.errors import ErrorCode, PilothouseError

_log = logging.getLogger(__name__)
_PIECE = 256 * 1024
# All that it gets of our environment: it needs no secrets.
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH")
_Given = TypeVar("_Given")
_Returned = TypeVar("_Returned")
_WHY: dict[Trouble, str] = {
    "slow": "it takes too long to read",
    "deep": "it is nested too deeply",
    "large": "there is too much in it",
    "broken": "reading it failed",
}
_ABSENT = "the helper process that reads such files could not be started"


class Unreadable(Exception):
    """The helper process gave nothing back; `why` is half a sentence about what it was given."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Room(msgspec.Struct, frozen=True):
    """What a helper process gets: its memory, and what its environment has beside the usual."""

    memory: int = limits.HELPER_MEMORY
    environment: Mapping[str, str] = {}


class Helper:
    """One helper process. Threads take turns; the event loop's own thread asks nothing, since an answer may take long.

    A function that it is asked to carry out stands at the top of a module, and takes and returns plain data. When it
    raises a PilothouseError, so does asking.
    """

    def __init__(self, room: Room | None = None) -> None:
        self._room = room or Room()
        self._turns = RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep others out while several questions are asked; a question left open is given up at the end."""
        with self._turns:
            try:
                yield
            finally:
                if self._waiting:
                    self._stop()

    def ask(self, function: Callable[[_Given], _Returned], given: _Given, seconds: float | None = None) -> _Returned:
        """Return what a function gives for an argument; raise Unreadable when it takes too much for that."""
        allowed = limits.HELPER_TIME if seconds is None else seconds
        with self._turns:
            self.begin(function, given, allowed)
            return self.finish(function, allowed)

    def begin(self, function: Callable[[_Given], object], given: _Given, seconds: float) -> None:
        """Ask, in a turn of ours; the answer is fetched later, before anything else is asked."""
        raw = msgspec.Raw(msgspec.msgpack.encode(given))
        data = msgspec.msgpack.encode(Asked(function.__module__, function.__name__, seconds, raw))
        try:
            process = self._started()
        except OSError as error:
            _log.warning("The helper process could not be started: %s", error.strerror)
            raise Unreadable(_ABSENT) from None
        self._waiting = True
        try:
            _write(process, LENGTH.pack(len(data)) + data, time.monotonic() + seconds * limits.HELPER_PATIENCE)
        except OSError:
            # It will be noticed when the answer does not come.
            return

    def finish(self, function: Callable[..., _Returned], seconds: float) -> _Returned:
        """Return the answer to what was asked."""
        process, self._waiting = self._process, False
        if process is None:
            raise Unreadable(_ABSENT)
        until = time.monotonic() + seconds * limits.HELPER_PATIENCE
        try:
            (length,) = LENGTH.unpack(_read(process, LENGTH.size, until))
            answer = msgspec.msgpack.decode(_read(process, length, until), type=Answer)
        except OSError:
            raise Unreadable(_WHY[self._ended(process)]) from None
        if answer.trouble == "refused":
            code, message, fix = msgspec.msgpack.decode(answer.value, type=tuple[ErrorCode, str, str])
            raise PilothouseError(code, message, fix=fix)
        if answer.trouble == "large":
            # What is left of its memory is in pieces.
            self._stop()
        if answer.trouble:
            raise Unreadable(_WHY[answer.trouble])
        returns = work(function.__module__, function.__name__).returns
        try:
            return cast(_Returned, msgspec.msgpack.decode(answer.value, type=returns))
        except RecursionError:
            raise Unreadable(_WHY["deep"]) from None

    def close(self) -> None:
        """End the process; what it is asked right now is not waited for."""
        if (process := self._process) is not None:
            process.kill()
        with self._turns:
            self._stop()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self._stop()
        if self._process is None:
            command = [sys.executable, "-P", "-m", "pilothouse.helper.process", str(self._room.memory)]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
                | dict(self._room.environment),
                bufsize=0,
            )
        return self._process

    def _ended(self, process: subprocess.Popen[bytes]) -> Trouble:
        """Return what was the trouble with a process that gave no answer."""
        self._stop()
        return "slow" if process.returncode in (-signal.SIGPROF, -signal.SIGKILL) else "broken"

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


def _write(process: subprocess.Popen[bytes], data: bytes, until: float) -> None:
    if process.stdin is None:
        return
    poll = select.poll()
    poll.register(process.stdin, select.POLLOUT)
    os.set_blocking(process.stdin.fileno(), False)
    view = memoryview(data)
    while view:
        _wait(poll, until)
        view = view[os.write(process.stdin.fileno(), view) :]


def _read(process: subprocess.Popen[bytes], size: int, until: float) -> bytes:
    data, poll = bytearray(), select.poll()
    if process.stdout is not None:
        poll.register(process.stdout, select.POLLIN)
    while process.stdout is not None and len(data) < size:
        _wait(poll, until)
        piece = os.read(process.stdout.fileno(), min(_PIECE, size - len(data)))
        if not piece:
            raise BrokenPipeError
        data += piece
    return bytes(data)


def _wait(poll: select.poll, until: float) -> None:
    if not poll.poll(max(0.0, until - time.monotonic()) * 1_000):
        raise TimeoutError
