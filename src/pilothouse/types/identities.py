"""What tells a file from every other, whatever it is called: its device and inode, read with a bound."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from pilothouse.types import limits

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


def with_other_names(paths: Iterable[str]) -> Iterator[tuple[str, Identity]]:
    """Yield the files at and below paths that have more names than one, each with its path of these."""
    left = limits.GUARD_ALL
    for path in paths:
        for found in islice(_below(path), min(left, limits.GUARD_FILES)):
            left -= 1
            if found.has_other_names:
                yield path, found.identity


def names_of(wanted: Collection[Identity], folder: str) -> Iterator[str]:
    """Yield the names that files have in a folder, what is nearest first, as far as that is looked through."""
    numbers = {inode for _, inode in wanted}
    for one in islice(_entries(folder), limits.SECOND_NAMES):
        # Only what may be one of them is asked about: a folder can hold a great many others.
        if one.inode() in numbers and (found := entry(one.path)) and found.identity in wanted:
            yield one.path


def _below(path: str) -> Iterator[Entry]:
    if (top := entry(path)) is None:
        return
    yield top
    if stat.S_ISDIR(top.facts.st_mode):
        yield from (found for one in _entries(path) if (found := entry(one.path)))


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    waiting = deque([folder])
    while waiting:
        try:
            with os.scandir(waiting.popleft()) as entries:
                for one in entries:
                    yield one
                    if one.is_dir(follow_symlinks=False):
                        waiting.append(one.path)
        except OSError:
            continue
