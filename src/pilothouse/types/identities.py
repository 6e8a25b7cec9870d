"""What tells a file from every other, whatever it is called: its device and inode, read with a bound."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

Identity = tuple[int, int]


class Entry(NamedTuple):
    """A file or a folder as it was found; a link stands for itself."""

    path: str
    facts: os.stat_result

    @property
    def identity(self) -> Identity:
        """Return its device and inode."""
        return self.facts.st_dev, self.facts.st_ino

    @property
    def has_other_names(self) -> bool:
        """Return whether it is a file with more names than one."""
        return self.facts.st_nlink > 1 and stat.S_ISREG(self.facts.st_mode)


def entry(path: str, *, follow: bool = False) -> Entry | None:
    """Return what stands at a path; None when that is nothing, or cannot be told."""
    try:
        return Entry(path, os.stat(path, follow_symlinks=follow))
    except (OSError, ValueError):
        return None


def all_below(path: str, most: int) -> Iterator[Entry]:
    """Yield what stands at a path and below it, what is nearest first, up to a number."""
    return islice(_below(path), most)


def _below(path: str) -> Iterator[Entry]:
    top = entry(path)
    if top is None:
        return
    yield top
    waiting = deque([path] if stat.S_ISDIR(top.facts.st_mode) else [])
    while waiting:
        try:
            with os.scandir(waiting.popleft()) as entries:
                for one in entries:
                    if (found := _facts(one)) is None:
                        continue
                    yield Entry(one.path, found)
                    if stat.S_ISDIR(found.st_mode):
                        waiting.append(one.path)
        except OSError:
            continue


def _facts(one: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return one.stat(follow_symlinks=False)
    except OSError:
        return None
