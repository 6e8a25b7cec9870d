"""A folder with everything in it, level by level, by descriptors: no link is followed, no ignored folder entered."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from threading import Event
from typing import NamedTuple

import msgspec

from pilothouse.tools.search.globs import PathTest
from pilothouse.tools.search.ignoring import ALWAYS_SKIPPED, Rules
from pilothouse.types import limits

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


# Says why a folder or file (its way from the top, device and inode) may not be looked at; or nothing.
Protects = Callable[[str, tuple[int, int]], str]


class Stopped(Exception):
    """Whoever asked does not want to know any more."""


class Level(NamedTuple):
    """One folder, open while it is looked at."""

    descriptor: int
    # The way from the top, with a slash at the end; empty for the top itself.
    prefix: str
    # The names of its regular files, sorted.
    files: list[str]
    rules: Rules


class Seen(msgspec.Struct):
    """What was left out on the way, for the note under a result."""

    entries: int = 0
    # Whether there were more entries than are looked at.
    capped: bool = False
    # Folders that lie too deep, that the system refused, that are protected.
    deep: int = 0
    refused: int = 0
    protected: int = 0


class Wanted(msgspec.Struct, frozen=True):
    """What a walk looks at, and who may end it."""

    stop: Event
    hidden: bool = False
    ignored: bool = False
    # Of the files, only those whose path passes.
    include: PathTest | None = None
    protects: Protects = lambda _path, _identity: ""
    # Called with each folder before its entries are read.
    entering: Callable[[int, str], None] = lambda _descriptor, _prefix: None


class _Open(NamedTuple):
    descriptor: int
    folders: Iterator[str]
    prefix: str
    rules: Rules


class Walk:
    """Goes through a folder once."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self.seen = Seen()

    def levels(self, descriptor: int, prefix: str = "", rules: Rules | None = None) -> Iterator[Level]:
        """Yield the folder and those below it, each before what it contains; the descriptor stays the caller's."""
        opened: list[_Open] = []
        try:
            level, folders = self._read(os.open(".", _FOLDER, dir_fd=descriptor), prefix, rules or Rules())
            opened.append(_Open(level.descriptor, iter(folders), prefix, level.rules))
            yield level
            while opened:
                at = opened[-1]
                name = next(at.folders, None)
                if name is None:
                    os.close(opened.pop().descriptor)
                    continue
                below = self._enter(at, name, len(opened))
                if below is not None:
                    level, folders = self._read(below, f"{at.prefix}{name}/", at.rules)
                    opened.append(_Open(below, iter(folders), level.prefix, level.rules))
                    yield level
        finally:
            for each in opened:
                os.close(each.descriptor)

    def _enter(self, at: _Open, name: str, depth: int) -> int | None:
        if depth >= limits.SEARCH_DEPTH:
            self.seen.deep += 1
            return None
        try:
            descriptor = os.open(name, _FOLDER, dir_fd=at.descriptor)
        except OSError:
            self.seen.refused += 1
            return None
        found = os.fstat(descriptor)
        if self._wanted.protects(at.prefix + name, (found.st_dev, found.st_ino)):
            os.close(descriptor)
            self.seen.protected += 1
            return None
        return descriptor

    def _read(self, descriptor: int, prefix: str, rules: Rules) -> tuple[Level, list[str]]:
        """Return a folder's files and the names of its folders; the descriptor is closed when that fails."""
        try:
            self._wanted.entering(descriptor, prefix)
            files, folders = self._entries(descriptor)
            if not self._wanted.ignored:
                rules = rules.below(descriptor, prefix, {*files, *folders})
            # The cheapest question first.
            files = [name for name in files if self._shown(name)]
            if self._wanted.include is not None:
                files = [name for name in files if self._wanted.include(prefix + name)]
            if not self._wanted.ignored:
                files = rules.left(prefix, files)
            return Level(descriptor, prefix, sorted(files), rules), self._entered(folders, prefix, rules)
        except BaseException:
            os.close(descriptor)
            raise

    def _entered(self, folders: list[str], prefix: str, rules: Rules) -> list[str]:
        """Return the folders that are gone into."""
        shown = [name for name in folders if self._shown(name)]
        return sorted(shown if self._wanted.ignored else rules.left(prefix, shown, "/"))

    def _shown(self, name: str) -> bool:
        return name not in ALWAYS_SKIPPED and (self._wanted.hidden or not name.startswith("."))

    def _entries(self, descriptor: int) -> tuple[list[str], list[str]]:
        files: list[str] = []
        folders: list[str] = []
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    if self._full():
                        break
                    if entry.is_file(follow_symlinks=False):
                        files.append(entry.name)
                    elif entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
        except OSError:
            self.seen.refused += 1
        return files, folders

    def _full(self) -> bool:
        self.seen.entries += 1
        if self.seen.entries % 1024 == 0 and self._wanted.stop.is_set():
            raise Stopped
        if self.seen.entries > limits.SEARCH_ENTRIES:
            self.seen.capped = True
        return self.seen.capped
