"""Text in files, line by line: every file below a folder, or those that an index names."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

import msgspec

from pilothouse.tools.files.places import PathRefused
from pilothouse.tools.files.walk import Folder
from pilothouse.tools.search.patterns import Pattern
from pilothouse.tools.search.reading import Reader
from pilothouse.tools.search.results import Found, Hit, cut
from pilothouse.tools.search.tree import Seen, Stopped, Walk, Wanted
from pilothouse.types import limits


class Grep(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked for, and where."""

    pattern: Pattern
    what: str
    wanted: Wanted
    # What a path from the top is called in the result.
    called: Callable[[str], str] = lambda path: path


class _Scan:
    """One search at work."""

    def __init__(self, grep: Grep) -> None:
        self._grep = grep
        self._reader = Reader()
        self._until = time.monotonic() + limits.SEARCH_TIME
        self.hits: list[Hit] = []
        self.large: list[str] = []
        self.protected = 0
        self.full = False
        self.late = False

    def folder(self, descriptor: int, prefix: str, names: Iterable[str]) -> bool:
        """Search files of one folder; return whether to go on."""
        reader, find = self._reader, self._grep.pattern.find
        for name in names:
            if not reader.read(descriptor, name) or not reader.size:
                if reader.too_large:
                    self.large.append(prefix + name)
                continue
            if find(reader.buffer, 0, _end(reader)) is not None and not self._take(prefix + name):
                return False
        self.late = time.monotonic() > self._until
        return not self.late

    def _take(self, path: str) -> bool:
        """Keep the hits of the file that was read; return whether there is room for more."""
        if self._grep.wanted.protects(path, self._reader.identity):
            self.protected += 1
            return True
        called = self._grep.called(path)
        for hit in lines_with(self._grep.pattern, self._reader.buffer, _end(self._reader), called):
            if len(self.hits) >= limits.SEARCH_KEPT:
                self.full = True
                return False
            self.hits.append(hit)
        if self._grep.wanted.stop.is_set():
            raise Stopped
        return True

    def found(self, seen: Seen) -> Found:
        """Return the result."""
        notes = walk_notes(seen)
        if self.large:
            shown = ", ".join(self.large[:3]) + (", …" if len(self.large) > 3 else "")
            notes.append(f"Not searched, because over {limits.SEARCH_FILE_BYTES >> 20} MB: {shown}.")
        if self.protected:
            notes.append("Matches in protected files are left out; read such a file by its path to be asked about it.")
        if self.late:
            notes.append(f"Stopped after {limits.SEARCH_TIME:.0f} s; search a smaller folder.")
        if self.full:
            notes.append("There are more; make the query or the folder narrower.")
        what, more = self._grep.what, self.full or self.late
        return Found(what=what, unit="match", hits=tuple(self.hits), more=more, notes=tuple(notes))


def _end(reader: Reader) -> int:
    """Return where the last line ends; what a line end closes is not one more line."""
    return reader.size - (reader.size > 0 and reader.buffer[reader.size - 1] == ord("\n"))


def lines_with(pattern: Pattern, buffer: bytearray, size: int, path: str) -> Iterator[Hit]:
    """Yield each line that has a match, once."""
    at, number, counted = 0, 1, 0
    while at <= size:
        span = pattern.find(buffer, at, size)
        if span is None:
            return
        start = buffer.rfind(b"\n", 0, span[0]) + 1
        end = buffer.find(b"\n", span[0], size)
        end = size if end < 0 else end
        number += buffer.count(b"\n", counted, start)
        counted = start
        # A line of a megabyte is not decoded as a whole for the few characters that are shown.
        reach = limits.SEARCH_LINE_CHARS * 4
        low, high = max(start, span[0] - reach), min(end, span[1] + reach)
        text = buffer[low:high].decode("utf-8", "replace").rstrip()
        shown = cut(text, max(0, span[0] - low), max(0, span[1] - low))
        yield Hit(path=path, line=number, text=shown.strip() if len(text) > limits.SEARCH_LINE_CHARS else shown)
        at = end + 1


def grep_tree(root: Folder, grep: Grep) -> tuple[Found, Seen]:
    """Search every file below a folder; return also what was seen on the way."""
    walk, scan = Walk(grep.wanted), _Scan(grep)
    for level in walk.levels(root.descriptor):
        if grep.wanted.stop.is_set():
            raise Stopped
        if level.files and not scan.folder(level.descriptor, level.prefix, level.files):
            break
    return scan.found(walk.seen), walk.seen


def grep_files(root: Folder, paths: Iterable[str], grep: Grep) -> Found:
    """Search these files below a folder, given by their way from it; what is gone meanwhile is passed over."""
    scan, include = _Scan(grep), grep.wanted.include
    for prefix, names in _by_folder(path for path in paths if include is None or include(path)):
        if grep.wanted.stop.is_set():
            raise Stopped
        try:
            with root.descend(tuple(prefix.split("/")[:-1])) as folder:
                if not scan.folder(folder.descriptor, prefix, names):
                    break
        except PathRefused:
            continue
    return scan.found(Seen())


def walk_notes(seen: Seen) -> list[str]:
    """Return what a walk left out, one sentence each."""
    notes = []
    if seen.capped:
        notes.append(f"Only the first {limits.SEARCH_ENTRIES:,} entries were looked at; name a folder further down.")
    if seen.deep:
        notes.append(f"Folders more than {limits.SEARCH_DEPTH} levels down were not entered.")
    if seen.refused:
        notes.append(f"{seen.refused} folders could not be opened.")
    if seen.protected:
        notes.append(f"{seen.protected} protected folders were left out.")
    return notes


def _by_folder(paths: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    folders: dict[str, list[str]] = {}
    for path in paths:
        prefix, _, name = path.rpartition("/")
        folders.setdefault(f"{prefix}/" if prefix else "", []).append(name)
    for prefix in sorted(folders):
        yield prefix, sorted(folders[prefix])
