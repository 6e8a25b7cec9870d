"""Processes that tests look for: by a mark in their command line, or by their number."""

from __future__ import annotations

import contextlib
import os
import subprocess

import psutil

from tests.support import forked
from tests.support.waiting import until

# A killed process is taken down by the kernel in its own time, which is longer on a busy machine.
MOMENT = 10.0


def processes_with(mark: str) -> list[int]:
    """Return the processes whose command line has a mark in it, but ours, and those of tests that run beside us."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        words = process.info["cmdline"] or ()
        dead = process.info["status"] == psutil.STATUS_ZOMBIE
        if not dead and process.info["pid"] != os.getpid() and any(mark in word for word in words):
            with contextlib.suppress(psutil.Error):
                if not _is_anothers(process):
                    found.append(process.info["pid"])
    return found


def _is_anothers(process: psutil.Process) -> bool:
    """Return whether another run of tests started it; an orphan may be ours."""
    parents = process.parents()
    if {os.getpid(), *forked.origins()} & {parent.pid for parent in parents}:
        return False
    return any("pytest" in word or "execnet" in word for parent in parents for word in parent.cmdline())


def all_ended(mark: str) -> bool:
    """Return whether no such process is left; what was just killed has a moment to end."""
    with contextlib.suppress(AssertionError):
        return until(lambda: not processes_with(mark), f"the processes of {mark} to end", MOMENT)
    return False


def has_ended(pid: int) -> bool:
    """Return whether there is no process with a number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def end_process(process: subprocess.Popen[bytes], within: float) -> None:
    """Ask a process to end, and kill one that has not ended within so many seconds."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(within)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(within)
