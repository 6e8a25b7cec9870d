"""Processes of the product that need not import it first: forked from one that has.

Importing takes most of a short command's time, and the tests start thousands of them. A process made here has its own
arguments, variables, folder and streams, and ends as any other does. What the interpreter reads when it starts is the
same for all of them: whoever wants that to be different gets a process of the usual kind.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# What Python, the C library and the loader look at before the first line of a program runs.
AT_START = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC_", "GLIBC_", "TZ")
# Both answers may be there before the first is read: each has this length.
ANSWER = 16
# Where such a process takes orders, and what it was started with.
Known = tuple[str, dict[str, str]]


class _Origin:
    """The process that all others are forked from; itself forked from another one, where there is one like it."""

    def __init__(self, before: Known | None) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="pilothouse-forks-")
        self.address = str(Path(self.folder.name) / "socket")
        self.variables = at_start(os.environ)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.address)
            listener.listen(64)
            self.process = self._start(listener.fileno(), before)

    def _start(self, listener: int, before: Known | None) -> subprocess.Popen[bytes]:
        # It ends with us: then nobody holds the other end of its input.
        if before is not None and before[1] == self.variables:
            return _Forked(before[0], [], cwd=ROOT, env=os.environ, stdin=subprocess.PIPE, listener=listener)
        command = [sys.executable, "-m", "tests.support.fork_origin", str(listener)]
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, pass_fds=[listener])

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


# The one of this process, once there is one.
_origins: list[_Origin] = []


def prepare(before: Known | None = None) -> Known:
    """Start the process that others are forked from, and say where it is; it imports while the tests begin."""
    origin = _Origin(before)
    _origins.append(origin)
    return origin.address, origin.variables


def end() -> None:
    """End it."""
    _origins.pop().close()


def origins() -> list[int]:
    """Return the ids of the processes whose children these are."""
    return [origin.process.pid for origin in _origins]


def start(module: Sequence[str], *, env: Mapping[str, str], **options: Any) -> subprocess.Popen[bytes]:
    """Start `python -m MODULE ARGUMENTS`; the options are those of `Popen`, and `terminal` makes one its own."""
    for origin in _origins:
        if origin.variables == at_start(env):
            return _Forked(origin.address, module, env=env, **options)
    if options.pop("terminal", False):
        options |= {"start_new_session": True, "preexec_fn": own_terminal}
    return subprocess.Popen([sys.executable, "-m", *module], env=env, **options)


def own_terminal() -> None:
    """Make the terminal at standard input the one of this session."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def run(module: Sequence[str], given: bytes, *, env: Mapping[str, str], timeout: float) -> tuple[int, bytes, bytes]:
    """Run a module to its end; return its exit code and what it printed."""
    pipe = subprocess.PIPE
    with start(module, env=env, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            out, err = process.communicate(given, timeout)
        except BaseException:
            process.kill()
            raise
        return process.returncode, out, err


class _Forked(subprocess.Popen[bytes]):
    """A process that another one makes for us and tells the end of."""

    # Of Popen, which does all the rest.
    _waitpid_lock: threading.Lock
    _handle_exitstatus: Callable[[int], None]
    _close_pipe_fds: Callable[[int, int, int, int, int, int], None]

    def __init__(
        self,
        origin: str,
        module: Sequence[str],
        *,
        terminal: bool = False,
        listener: int | None = None,
        **options: Any,
    ) -> None:
        self._origin = origin
        self._terminal = terminal
        self._listener = [] if listener is None else [listener]
        self._teller = socket.socket(socket.AF_UNIX)
        super().__init__(module, **options)

    def _execute_child(self, args: Sequence[str], *given: Any) -> None:
        # Popen's parameters, in its order: the folder, the variables, and both ends of each stream.
        cwd, env = given[4:6]
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite = given[9:15]
        streams = [usual if end == -1 else end for usual, end in enumerate((p2cread, c2pwrite, errwrite))]
        order = {"module": list(args), "env": dict(env), "cwd": str(cwd or Path.cwd()), "terminal": self._terminal}
        body = json.dumps(order).encode()
        self._teller.connect(self._origin)
        socket.send_fds(self._teller, [len(body).to_bytes(4)], streams + self._listener)
        self._teller.sendall(body)
        self.pid = int(self._teller.recv(ANSWER, socket.MSG_WAITALL))
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._teller.fileno() == -1:
            return self.pid, 0
        try:
            told = self._teller.recv(ANSWER, socket.MSG_DONTWAIT if wait_flags else 0)
        except BlockingIOError:
            return 0, 0
        self._teller.close()
        # Without a word the origin died, and this process with it.
        return self.pid, int(told or signal.SIGKILL)

    def _internal_poll(self, *_ignored: Any, **_too: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(False):
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def at_start(variables: Mapping[str, str]) -> dict[str, str]:
    """Return those of the variables that are read before a program runs."""
    return {name: value for name, value in variables.items() if name.startswith(AT_START)}
