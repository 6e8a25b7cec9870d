"""Takes up files into an index: what is new or changed is read, what is gone is dropped, what is the same is left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from hashlib import blake2b
from itertools import islice
from threading import Event

import msgspec

from pilothouse.tools.files.places import PathRefused
from pilothouse.tools.files.walk import Folder
from pilothouse.tools.search.grammars import Grammars, Source
from pilothouse.tools.search.ignoring import ALWAYS_SKIPPED, IGNORE_FILES, Rules
from pilothouse.tools.search.index_file import Entry, IndexFile, Kept, Known
from pilothouse.tools.search.passage_meanings import Embedding
from pilothouse.tools.search.reading import Reader
from pilothouse.tools.search.symbols import Symbol, language_of
from pilothouse.tools.search.tree import Level, Protects, Stopped, Walk, Wanted
from pilothouse.tools.search.watching import Changes, Watch
from pilothouse.types import limits

# Files whose grammars are asked at once: one by one, two processes would mostly wait for each other.
_GROUP = 16


class IndexParts(msgspec.Struct, frozen=True):
    """What an index needs of others."""

    protects: Protects
    grammars: Grammars
    # Whether a text has a secret of the person's in it, which is written nowhere.
    holds_secret: Callable[[str], bool] = lambda _text: False
    embedding: Embedding | None = None


class Indexing:
    """Brings an index in line with its folder. Used by one thread."""

    def __init__(self, top: Folder, file: IndexFile, parts: IndexParts, stop: Event) -> None:
        self._top = top
        self._file = file
        self._parts = parts
        self._stop = stop
        self._reader = Reader()
        self._rules: dict[str, Rules] = {}
        self._known = file.known()
        self._todo: dict[str, None] = {}
        self.watch: Watch | None = None
        # What is there but not in the tables: too large, with a secret in it, or with a name that is no text.
        self.unindexed = {path for path, known in self._known.items() if known.kept == "apart"}
        self.capped = False
        self.done = 0
        self.total = 0

    @property
    def files(self) -> int:
        """Return how many files are known."""
        return len(self._known)

    @property
    def behind(self) -> bool:
        """Return whether something is still to be read."""
        return bool(self._todo)

    def sweep(self, prefix: str = "", rules: Rules | None = None) -> None:
        """Look at every file below a folder and note what must be read."""
        walk = Walk(Wanted(stop=self._stop, protects=self._parts.protects, entering=self._entering))
        seen: set[str] = set()
        for below in [each for each in self._rules if each.startswith(prefix)]:
            del self._rules[below]
        try:
            with self._top.descend(tuple(prefix.split("/")[:-1])) as folder:
                for level in walk.levels(folder.descriptor, prefix, rules):
                    self._look(level, seen)
        except PathRefused:
            pass
        if self.watch is not None:
            self.watch.keep_only(self._rules, prefix)
        self.capped = self.capped or walk.seen.capped
        gone = [path for path in {*self._known, *self.unindexed} if path.startswith(prefix) and path not in seen]
        with self._file.writing():
            self._drop(gone)

    def apply(self, changes: Changes) -> None:
        """Note what changes are about."""
        names = {path.rpartition("/")[2] for path in changes.paths}
        if changes.lost or names & set(IGNORE_FILES):
            self.sweep()
            return
        for path in sorted(changes.paths):
            self._changed(path)

    def work(self, until: float) -> None:
        """Read some of what was noted, until a moment at the latest; what was read is in the index then."""
        with self._file.writing(), self._parts.grammars.turn() as grammars:
            # While some files are written, the grammars of the next are at work.
            parsing: list[Entry] = []
            group: list[Entry] = []
            for path in list(islice(self._todo, limits.INDEX_BATCH)):
                entry = self._taken(path)
                if entry is not None and _source(entry) is not None:
                    group.append(entry)
                elif entry is not None:
                    self._write(entry, [])
                if _is_enough(group):
                    parsing, group = self._parse(group, parsing, grammars), []
                if self._stop.is_set():
                    raise Stopped
                if time.monotonic() > until:
                    break
            self._parse([], self._parse(group, parsing, grammars), grammars)
        if not self._todo:
            self.done = self.total = 0

    def renew(self) -> None:
        """Make the index anew, when too much was replaced in it."""
        if self._file.is_worn():
            self._file.empty()
            self._known.clear()
            self.sweep()

    def close(self) -> None:
        """Stop watching."""
        if self.watch is not None:
            self.watch.close()

    def _entering(self, descriptor: int, prefix: str) -> None:
        if self.watch is None:
            return
        try:
            self.watch.add(descriptor, prefix)
        except OSError:
            # The system has no room for more: from now on every question looks at every file.
            self.watch.close()
            self.watch = None

    def _look(self, level: Level, seen: set[str]) -> None:
        """Note the files of a folder that are not as they were."""
        self._rules[level.prefix] = level.rules
        for name in level.files:
            path = level.prefix + name
            known = self._known.get(path)
            if known is None and len(self._known) + len(self._todo) >= limits.INDEX_FILES:
                self.capped = True
                return
            seen.add(path)
            if known is None or not _is_same(known, level.descriptor, name):
                self._note(path)

    def _note(self, path: str) -> None:
        if path not in self._todo:
            self._todo[path] = None
            self.total += 1

    def _changed(self, path: str) -> None:
        parent, _, name = path.rstrip("/").rpartition("/")
        prefix = f"{parent}/" if parent else ""
        rules = self._rules.get(prefix)
        if rules is None or name in ALWAYS_SKIPPED or name.startswith(".") or rules.ignores(path):
            return
        if path.endswith("/"):
            self.sweep(path, rules)
        else:
            self._note(path)

    def _taken(self, path: str) -> Entry | None:
        """Read a file; return it if its content is new."""
        self._todo.pop(path, None)
        self.done += 1
        is_text = self._reader.read_below(self._top, path)
        found = self._reader.stat
        if found is None or self._parts.protects(path, self._reader.identity):
            self._drop([path])
            return None
        if not _is_name(path):
            self.unindexed.add(path)
            return None
        entry = self._entry(path, found, is_text)
        known = self._known.get(path)
        if known is not None and known.digest == entry.digest and known.kept == entry.kept:
            self._remember(path, self._file.touch(known, entry))
            return None
        return entry

    def _entry(self, path: str, found: os.stat_result, is_text: bool) -> Entry:
        content = self._reader.content if is_text else b""
        kept: Kept = "words" if is_text else "apart" if self._reader.too_large else "nothing"
        if is_text and self._parts.holds_secret(content.decode("utf-8", "replace")):
            kept = "apart"
        return Entry(
            path=path,
            size=found.st_size,
            changed=found.st_ctime_ns,
            inode=found.st_ino,
            digest=blake2b(content, digest_size=16).digest(),
            settled=found.st_ctime < time.time() - limits.INDEX_SETTLED,
            kept=kept,
            content=content if kept == "words" else b"",
        )

    def _parse(self, group: list[Entry], parsing: list[Entry], grammars: Grammars) -> list[Entry]:
        """Set the grammars to work on a group, and write the one that they are done with."""
        found = grammars.definitions(_sources(parsing)) if parsing else []
        if group:
            grammars.ask_definitions(_sources(group))
        for entry, symbols in zip(parsing, found, strict=True):
            self._write(entry, symbols)
        return group

    def _write(self, entry: Entry, symbols: list[Symbol]) -> None:
        self._remember(entry.path, self._file.put(entry, symbols))

    def _remember(self, path: str, known: Known) -> None:
        self._known[path] = known
        (self.unindexed.add if known.kept == "apart" else self.unindexed.discard)(path)

    def _drop(self, paths: list[str]) -> None:
        gone = [path for path in paths if self._known.pop(path, None) is not None]
        self.unindexed.difference_update(paths)
        self._file.drop(gone)


def _source(entry: Entry) -> Source | None:
    """Return what a grammar reads; None when there is none for it, or it is too large."""
    language = language_of(entry.path)
    if entry.kept != "words" or not language or entry.size > limits.SYMBOL_FILE_BYTES:
        return None
    return Source(language, entry.content)


def _sources(group: list[Entry]) -> list[Source]:
    return [source for entry in group if (source := _source(entry)) is not None]


def _is_enough(group: list[Entry]) -> bool:
    return len(group) >= _GROUP or sum(entry.size for entry in group) >= limits.SYMBOL_FILE_BYTES


def _is_same(known: Known, folder: int, name: str) -> bool:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    now = (found.st_size, found.st_ctime_ns, found.st_ino)
    return known.settled and (known.size, known.changed, known.inode) == now


def _is_name(path: str) -> bool:
    """Return whether a path is text; names of other encodings cannot be stored or shown."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
