"""Finds what a test leaves behind: child processes, open descriptors, running tasks."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.support import forked
from tests.support.waiting import PATIENCE

# A closed socket or a stopped child may need a moment to be gone; a leak stays for ever.
GRACE = PATIENCE
IS_LINUX = Path("/proc/self/task").is_dir()
OWN_DESCRIPTORS = "/proc/self/fd" if IS_LINUX else "/dev/fd"
# Libraries keep what they mapped from their own files and a source of randomness; neither grows with use.
KEPT_BY_LIBRARIES = ("site-packages", "/dev/urandom", "/dev/null")


class Snapshot(NamedTuple):
    """What this process holds at one moment."""

    children: frozenset[int]
    descriptors: dict[int, str]


def children() -> frozenset[int]:
    """Return the ids of this process's children, dead ones that nobody waited for included."""
    if not IS_LINUX:
        return frozenset(child.pid for child in psutil.Process().children())
    origins = forked.origins()
    found = {pid for process in ("self", *origins) for pid in _children_of_threads(f"/proc/{process}/task")}
    # What they are forked from is there all along.
    return frozenset(found.difference(origins))


def _children_of_threads(tasks: str) -> Iterator[int]:
    # Twice for each of thousands of tests: a path and a file object for each would take five times as long.
    try:
        threads = os.listdir(tasks)
    except OSError:
        return
    for thread in threads:
        # It may end while it is looked at.
        with suppress(OSError):
            file = os.open(f"{tasks}/{thread}/children", os.O_RDONLY | os.O_CLOEXEC)
            try:
                told = b""
                while more := os.read(file, 65_536):
                    told += more
            finally:
                os.close(file)
            yield from map(int, told.split())


def descriptors() -> dict[int, str]:
    """Return the open descriptors with what they lead to."""
    found: dict[int, str] = {}
    for name in os.listdir(OWN_DESCRIPTORS):
        try:
            found[int(name)] = os.readlink(f"{OWN_DESCRIPTORS}/{name}")
        except OSError:
            continue
    return found


def snapshot() -> Snapshot:
    """Return what this process holds now."""
    return Snapshot(children(), descriptors())


def difference(before: Snapshot, now: Snapshot) -> list[str]:
    """Return what is there now and was not before, one line each."""
    left = [f"process {pid}" for pid in now.children - before.children]
    for number, target in now.descriptors.items():
        same = before.descriptors.get(number) == target
        if not same and not any(part in target for part in KEPT_BY_LIBRARIES):
            left.append(f"descriptor {number} to {target}")
    # A descriptor number can be used again for another thing; only more of them is a leak.
    grown = len(now.descriptors) > len(before.descriptors)
    return [line for line in left if grown or line.startswith("process")]


def left_since(before: Snapshot) -> list[str]:
    """Return what is still left after a moment of grace."""
    left = difference(before, snapshot())
    end = time.monotonic() + GRACE
    while left and time.monotonic() < end:
        gc.collect()
        time.sleep(0.02)
        left = difference(before, snapshot())
    return left


def tasks() -> set[asyncio.Task[object]]:
    """Return the tasks of the running loop, the current one left out."""
    current = asyncio.current_task()
    return {task for task in asyncio.all_tasks() if task is not current}


async def tasks_left(before: set[asyncio.Task[object]]) -> list[str]:
    """Return the tasks that still run and did not before, after a moment of grace."""
    left = tasks() - before
    if left:
        _, left = await asyncio.wait(left, timeout=GRACE)
    return sorted(repr(task) for task in left)
