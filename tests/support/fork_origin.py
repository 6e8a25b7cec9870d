"""`python -m tests.support.fork_origin LISTENER`: has imported the product, and forks a process for each who asks.

Ends when its standard input does. An order is its length in four bytes, with the three streams beside it, and then
JSON; with a listener as well the new process is another of this kind, which need not import anything. The answer is
the process's id, and later how it ended, as `os.waitpid` has it, each in `ANSWER` bytes.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from tests.support.forked import ANSWER, own_terminal

# What the product imports only when it needs it.
LATER = ("encodings.idna", "prompt_toolkit.shortcuts", "typer._adapters", "uvloop", "websockets.server")
# What does its work when it is imported.
NOT_ALONE = ("__main__", "migrations.env")


def load() -> None:
    """Import everything of the product, and what it imports later."""
    import pilothouse

    names = [found.name for found in pkgutil.walk_packages(pilothouse.__path__, "pilothouse.")]
    for name in (*names, *LATER):
        if not name.endswith(NOT_ALONE):
            importlib.import_module(name)
    warm_up()
    gc.collect()
    gc.freeze()


def warm_up() -> None:
    """Run the commands that make what every process makes once: what reads arguments, messages and settings."""
    from tests.support import in_process

    with tempfile.TemporaryDirectory() as folder:
        variables = {**os.environ, "PILOTHOUSE_HOME": f"{folder}/home"}
        (script := Path(folder) / "script.yaml").write_text("- ok", encoding="utf-8")
        for command in (("run", "hi", "--model", f"scripted:{script}"), ("conversations", "list"), ("mcp", "list")):
            code, _, told = in_process.run(command, b"", variables)
            assert code == 0, told
    asyncio.run(_prompted())
    # A fork has the thread that forked and no other.
    assert threading.active_count() == 1, threading.enumerate()


async def _prompted() -> None:
    """Read a line as a terminal does: the first takes three times as long as the next."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    with create_pipe_input() as typed:
        typed.send_text("a line\r")
        await PromptSession[str](input=typed, output=DummyOutput()).prompt_async()


class Origin:
    """The socket where orders come in, and who waits for the end of which process."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._waiting: dict[int, socket.socket] = {}
        self._wake_reader, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_writer, False)
        signal.set_wakeup_fd(self._wake_writer)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> dict[str, Any] | None:
        """Fork for each order. In a new process return the order; in this one return None at the end."""
        while True:
            ready, _, _ = select.select([self._listener.fileno(), self._wake_reader, 0], [], [])
            if self._wake_reader in ready:
                os.read(self._wake_reader, 4096)
                self._tell()
            if self._listener.fileno() in ready and (order := self._fork()) is not None:
                return order
            if 0 in ready:
                return None

    def _fork(self) -> dict[str, Any] | None:
        asker, _ = self._listener.accept()
        size, given, _, _ = socket.recv_fds(asker, 4, 4)
        streams, listener = given[:3], given[3:]
        with asker.makefile("rb") as coming:
            order: dict[str, Any] = json.loads(coming.read(int.from_bytes(size)))
        if (pid := os.fork()) == 0:
            self._forget()
            asker.close()
            for usual, number in enumerate(streams):
                os.dup2(number, usual)
                os.close(number)
            return order | {"listener": listener}
        for number in given:
            os.close(number)
        self._waiting[pid] = asker
        asker.sendall(str(pid).encode().ljust(ANSWER))
        return None

    def _tell(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                with self._waiting.pop(ended[0]) as asker, contextlib.suppress(OSError):
                    asker.sendall(str(ended[1]).encode().ljust(ANSWER))

    def _forget(self) -> None:
        """Let go of what belongs to the origin alone."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in (self._listener, *self._waiting.values()):
            each.close()
        os.close(self._wake_reader)
        os.close(self._wake_writer)


def become(order: dict[str, Any]) -> None:
    """Be the process that was ordered: its place, variables, streams and arguments."""
    if order["terminal"]:
        os.setsid()
        own_terminal()
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    time.tzset()
    sys.path[0] = order["cwd"]
    # As the interpreter opened them, for the new streams.
    sys.stdin = _text(0, "rb", sys.stdin)
    sys.stdout = _text(1, "wb", sys.stdout)
    sys.stderr = _text(2, "wb", sys.stderr)
    module, *arguments = order["module"]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _text(number: int, mode: str, before: TextIO) -> io.TextIOWrapper:
    lines = number == 2 or os.isatty(number)
    return io.TextIOWrapper(open(number, mode), before.encoding, before.errors, line_buffering=lines)


def end_after(work: Callable[[], None]) -> None:
    """Do a process's work, and end it as the interpreter does, but for taking apart all that was imported.

    That alone would take five times as long as a short command: each page of it would be copied, to be thrown away.
    What ends by an exception, and what cannot be written to its end, is left to the interpreter.
    """
    code: object = None
    try:
        work()
    except SystemExit as asked:
        code = asked.code
    if code is not None and not isinstance(code, int):
        sys.exit(str(code))
    getattr(threading, "_shutdown")()  # noqa: B009  the interpreter's own first step, which has no public name
    getattr(atexit, "_run_exitfuncs")()  # noqa: B009  and its second
    # Who is garbage by now says so if it was not closed, or not awaited.
    gc.collect()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code)
    os._exit((code or 0) & 0xFF)


def main() -> None:
    load()
    listener = int(sys.argv[1])
    while (order := Origin(socket.socket(fileno=listener)).serve()) is not None:
        if not order["listener"]:
            end_after(functools.partial(become, order))
        [listener] = order["listener"]


if __name__ == "__main__":
    main()
