"""Runs the command line: in this process or in one of its own, with or without a terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.support import forked, in_process

PATIENCE = 20.0
COMMAND = (sys.executable, "-m", "pilothouse")


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return an environment without a screen, colours or other people's settings."""
    kept = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return kept | {"PILOTHOUSE_HOME": str(home), "TERM": "xterm-256color"} | more


def pilothouse(home: Path, *arguments: str, stdin: str | bytes = b"", **more: str) -> Outcome:
    """Run a command to its end, in this process: it has everything of its own but that."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    return Outcome(*in_process.run(arguments, given, environment(home, **more)))


def pilothouse_process(home: Path, *arguments: str, stdin: str | bytes = b"", **more: str) -> Outcome:
    """Run a command to its end, in a process of its own."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    code, out, err = forked.run(["pilothouse", *arguments], given, env=environment(home, **more), timeout=PATIENCE)
    return Outcome(code, out.decode(), err.decode())


class RunningCommand:
    """A command on its way, without a terminal."""

    def __init__(self, home: Path, *arguments: str, **more: str) -> None:
        self.process = forked.start(
            ["pilothouse", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # What is read ahead here would be missing below, where the system is asked what there is to read.
            bufsize=0,
            env=environment(home, **more),
        )
        self._ahead = b""

    def line(self) -> str:
        """Return the next line it prints."""
        assert self.process.stdout is not None
        while b"\n" not in self._ahead:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            assert ready, "the command printed nothing"
            more = os.read(self.process.stdout.fileno(), 65536)
            assert more, "the command ended"
            self._ahead += more
        line, _, self._ahead = self._ahead.partition(b"\n")
        return line.decode()

    def stop(self, number: int = signal.SIGTERM) -> Outcome:
        """Send a signal and return how it ended."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> Outcome:
        try:
            out, err = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return Outcome(self.process.returncode, (self._ahead + out).decode(), err.decode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def serve_command(home: Path, *arguments: str, **more: str) -> RunningCommand:
    """`pilothouse serve` at a free port, for a test that looks at how it starts or ends."""
    return RunningCommand(home, "serve", "--no-browser", "--port", "0", *arguments, **more)


@contextlib.contextmanager
def server(home: Path, *arguments: str, **more: str) -> Iterator[str]:
    """Run a server for as long as the block lasts, and give the line it printed."""
    with serve_command(home, *arguments, **more) as started:
        yield started.line()
        outcome = started.stop()
        assert outcome.code == 0, outcome.err


class Screen:
    """A command in a terminal of its own."""

    def __init__(self, home: Path, arguments: Sequence[str], **more: str) -> None:
        self._terminal, inside = pty.openpty()
        streams = {"stdin": inside, "stdout": inside, "stderr": inside}
        variables = environment(home, **more)
        self._process = forked.start(["pilothouse", *arguments], env=variables, terminal=True, **streams)
        os.close(inside)
        self.pid = self._process.pid
        self.raw = ""
        self._seen = 0
        self.code: int | None = None

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._terminal, text.encode())

    def until(self, pattern: str) -> None:
        """Wait until the screen shows something that matches, after what was waited for before."""
        end = time.monotonic() + PATIENCE
        while not (found := re.compile(pattern).search(self.text, self._seen)):
            if time.monotonic() > end or not self._read(end - time.monotonic()):
                raise AssertionError(f"waited in vain for {pattern!r}; there is: {self.text[self._seen :]!r}")
        self._seen = found.end()

    def ended(self) -> int:
        """Wait for the end and return the exit code."""
        while self._read(PATIENCE):
            pass
        self.code = self._process.wait(PATIENCE)
        return self.code

    @property
    def text(self) -> str:
        """Return what was shown, without styles."""
        return _bare(self.raw)

    def _read(self, timeout: float) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], max(timeout, 0))
        if not ready:
            return False
        try:
            data = os.read(self._terminal, 65536)
        except OSError:
            # Linux says it this way when the other side has closed.
            return False
        self.raw += data.decode(errors="replace")
        return bool(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.code is None:
            self._process.kill()
            self._process.wait()
        os.close(self._terminal)


def _bare(raw: str) -> str:
    """Return what a terminal shows of some output, roughly: without escapes and carriage returns."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r", "", raw)
