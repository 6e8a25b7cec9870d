"""`python -m scripts.mutation.worker`, in the copy: for each order runs one test in a process of its own.

The processes are forked from this one, which has imported what all tests need; nothing of the product, which changes
between them. An order and its answer are a line of JSON each.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

# What takes long to import and is not ours.
EARLY = ("hypothesis", "pytest_asyncio.plugin", "pytest_timeout", "msgspec", "psutil", "ssl", "sqlite3", "h11")
EARLY_TOO = ("starlette.applications", "uvicorn", "websockets", "cryptography.fernet", "email.message", "uuid")
OPTIONS = ("-q", "-x", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist")
PAUSE = 0.01


class Recorder:
    """Keeps how each part of a test ended."""

    def __init__(self) -> None:
        self.failures: list[tuple[str, list[str]]] = []
        self.passed = 0

    def pytest_exception_interact(self, call: pytest.CallInfo[Any], report: Any) -> None:
        """Keep what was raised, with the names of the classes above it."""
        assert call.excinfo is not None
        self.failures.append((getattr(report, "when", "collect"), _names(call.excinfo.value)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what passed."""
        self.passed += report.when == "call" and report.passed


def _names(error: BaseException) -> list[str]:
    """Return the names of an error's class and of those above it; of a group's, all of its errors'."""
    if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
        return _names(error.__cause__)
    inner = [name for each in getattr(error, "exceptions", ()) for name in _names(each)]
    return [kind.__name__ for kind in type(error).__mro__[:-2]] + inner


def _test(order: dict[str, Any], answer: int) -> None:
    """Run the test in this process, which does nothing else."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    words = os.open(f"{order['temporary']}.txt", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    for number, usual in ((null, 0), (words, 1), (words, 2)):
        os.dup2(number, usual)
    os.close(null)
    os.close(words)
    # Only where someone asks which lines it runs.
    with contextlib.suppress(ImportError):
        importlib.import_module("mutant_lines").begin()
    recorder = Recorder()
    pytest.main([*OPTIONS, f"--basetemp={order['temporary']}", order["test"]], [recorder])
    with os.fdopen(answer, "w") as sink:
        json.dump({"failures": recorder.failures, "passed": recorder.passed}, sink)


def _within(seconds: float, pid: int) -> bool:
    """Wait for a process; return whether it ended in time. What is left of it is killed."""
    end = time.monotonic() + seconds
    late = False
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if late := time.monotonic() > end:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            break
        time.sleep(PAUSE)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    return not late


def perform(order: dict[str, Any]) -> dict[str, Any]:
    """Carry out one order."""
    began = time.monotonic()
    reader, writer = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            os.close(reader)
            _test(order, writer)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writer)
    in_time = _within(order["patience"], pid)
    with os.fdopen(reader) as source:
        # Processes that the test left behind may still hold the other end; what we need came in one piece.
        os.set_blocking(source.fileno(), False)
        told = source.read() or "{}"
    words = Path(f"{order['temporary']}.txt").read_text(encoding="utf-8", errors="replace")
    return {**json.loads(told), "seconds": time.monotonic() - began, "late": not in_time, "words": words[-2000:]}


def main() -> None:
    """Serve until there are no more orders."""
    for name in (*EARLY, *EARLY_TOO):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(perform(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
