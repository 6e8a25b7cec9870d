"""The index of one working directory: a thread keeps it, and no look at it is older than the question."""

from __future__ import annotations

import fcntl
import logging
import os
import select
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from threading import Condition, Event, Thread

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.files.walk import open_folder
from pilothouse.tools.search.index_file import IndexFile
from pilothouse.tools.search.indexing import Indexing, IndexParts
from pilothouse.tools.search.passage_meanings import PassageMeanings
from pilothouse.tools.search.tree import Stopped
from pilothouse.tools.search.watching import Watch, watch_is_there
from pilothouse.types import limits

_log = logging.getLogger(__name__)
# Processes that may have an index of the same folder at once; each has a file of its own.
_SLOTS = 8


class IndexProgress(msgspec.Struct, frozen=True):
    """How far an index is."""

    # Whether everything that happened before the question is in it.
    fresh: bool
    # Files that are in it, and of those under way how many are done.
    files: int = 0
    done: int = 0
    total: int = 0
    watched: bool = False
    capped: bool = False
    problem: str = ""

    @property
    def note(self) -> str:
        """Return one sentence for a result that may not be the whole; empty when it is."""
        if self.problem:
            return f"The index cannot be kept: {self.problem}"
        if self.capped:
            return f"The folder has more than {limits.INDEX_FILES:,} files; the rest is not in the index."
        if self.fresh:
            return ""
        if not self.total:
            return "The index is being built; this result is not complete yet."
        return f"The index is being built ({self.done:,} of {self.total:,} files); this result is not complete yet."


class Index:
    """Keeps the index of a folder until it is closed."""

    def __init__(self, root: str, file: Path, parts: IndexParts) -> None:
        self.root = root
        self._parts = parts
        self._base = file
        self._stop = Event()
        self._changed = Condition()
        self._asked = 0
        self._served = 0
        # The same for what passages mean; nobody finds that out before someone asks.
        self._asked_meanings = 0
        self._served_meanings = 0
        self._ended = False
        self._progress = IndexProgress(fresh=False)
        self._unindexed: frozenset[str] = frozenset()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._closed = False
        self.file = file
        self._thread = Thread(target=self._run, name="index", daemon=True)

    def begin(self) -> None:
        """Start to build it, in the background."""
        self._thread.start()

    def close(self) -> None:
        """Stop, and wait until nothing of it is left but its file."""
        self._stop.set()
        with self._changed:
            self._wake()
        self._thread.join()
        with self._changed:
            self._closed = True
            os.close(self._wake_read)
            os.close(self._wake_write)

    @property
    def progress(self) -> IndexProgress:
        """Return how far it is now; says nothing about changes that nobody asked to be taken up."""
        with self._changed:
            return self._progress

    @property
    def unindexed(self) -> frozenset[str]:
        """Return the files that are searched in another way: they are too large, or have odd names."""
        with self._changed:
            return self._unindexed

    def catch_up(self, wait: float) -> IndexProgress:
        """Take up everything that happened until now, waiting so long at the most; return how far it came."""
        with self._changed:
            self._asked += 1
            mine = self._asked
            self._wake()
            served = self._changed.wait_for(lambda: self._served >= mine or self._ended, wait)
            progress = self._progress
            fresh = served and not self._ended
        return msgspec.structs.replace(progress, fresh=fresh and not progress.problem)

    def catch_up_meanings(self, wait: float) -> None:
        """Find out what passages mean, waiting so long at the most; it goes on in the background."""
        with self._changed:
            self._asked_meanings += 1
            mine = self._asked_meanings
            self._wake()
            self._changed.wait_for(lambda: self._served_meanings >= mine or self._ended, wait)

    def _woken(self) -> None:
        with self._changed:
            self._wake()

    def _wake(self) -> None:
        if self._closed:
            return
        # A full pipe wakes as well as one more byte would.
        with suppress(BlockingIOError):
            os.write(self._wake_write, b"\0")

    def _run(self) -> None:
        try:
            self._keep()
        except Stopped:
            pass
        except BadArgument as error:
            self._fail(error.message)
        except sqlite3.Error as error:
            self._fail(f"{error}.")
        except OSError as error:
            self._fail(f"{error.strerror or error}.")
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _fail(self, problem: str) -> None:
        _log.warning("The index of %s ended: %s", self.root, problem)
        with self._changed:
            self._progress = IndexProgress(fresh=False, problem=problem)

    def _keep(self) -> None:
        lock = self._take_slot()
        try:
            with open_folder(self.root) as top:
                file = IndexFile(self.file)
                indexing = Indexing(top, file, self._parts, self._stop)
                embedding = self._parts.embedding
                meanings = PassageMeanings(file, top, embedding, self._woken) if embedding is not None else None
                try:
                    self._follow(indexing, meanings)
                finally:
                    if meanings is not None:
                        meanings.close()
                    indexing.close()
                    file.close()
        finally:
            os.close(lock)

    def _take_slot(self) -> int:
        """Return a lock on a file that no other process writes."""
        self._base.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        forget_old(self._base.parent)
        for slot in range(_SLOTS):
            file = self._base.with_stem(f"{self._base.stem}-{slot}") if slot else self._base
            lock = take_lock(file)
            if lock is not None:
                self.file = file
                return lock
        raise BadArgument("too many programs index this folder at once.")

    def _follow(self, indexing: Indexing, meanings: PassageMeanings | None) -> None:
        """Build the index, then take up changes as they come or are asked about."""
        if watch_is_there():
            try:
                indexing.watch = Watch()
            except OSError:
                indexing.watch = None
        indexing.sweep()
        while not self._stop.is_set():
            with self._changed:
                asked = self._asked
            if indexing.watch is not None:
                indexing.apply(indexing.watch.changes())
            elif asked > self._served:
                indexing.sweep()
            while indexing.behind and not self._stop.is_set():
                self._tell(indexing, fresh=False)
                indexing.work(time.monotonic() + limits.INDEX_BATCH_TIME)
            indexing.renew()
            if not indexing.behind:
                self._tell(indexing, fresh=True, served=asked)
                if meanings is not None:
                    self._find_out(meanings)
                self._wait(indexing.watch)

    def _find_out(self, meanings: PassageMeanings) -> None:
        """Go on finding out what passages mean, once someone asked for that."""
        with self._changed:
            asked, served = self._asked_meanings, self._served_meanings
        if not asked:
            return
        if asked > served:
            meanings.try_again()
        if meanings.go_on():
            with self._changed:
                self._served_meanings = asked
                self._changed.notify_all()

    def _tell(self, indexing: Indexing, *, fresh: bool, served: int | None = None) -> None:
        with self._changed:
            self._progress = IndexProgress(
                fresh=fresh,
                files=indexing.files,
                done=indexing.done,
                total=indexing.total,
                watched=indexing.watch is not None,
                capped=indexing.capped,
            )
            self._unindexed = frozenset(indexing.unindexed)
            if served is not None:
                self._served = served
                self._changed.notify_all()

    def _wait(self, watch: Watch | None) -> None:
        """Wait for a change or a question; a change may be one of many, a question is answered at once."""
        asked, anything = select.poll(), select.poll()
        for poll in (asked, anything):
            poll.register(self._wake_read, select.POLLIN)
        if watch is not None:
            anything.register(watch.descriptor, select.POLLIN)
        ready = anything.poll()
        if self._wake_read not in dict(ready):
            asked.poll(limits.INDEX_GATHER * 1_000)
        with suppress(BlockingIOError):
            os.read(self._wake_read, 4096)


def take_lock(file: Path) -> int | None:
    """Return a descriptor that holds an index as long as it is open; None when another process has it."""
    lock = os.open(file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    # When it was used last.
    os.utime(lock)
    return lock


def forget_old(folder: Path) -> None:
    """Delete the indexes that nobody has used for long; they can be made again."""
    before = time.time() - limits.INDEX_DAYS * 86_400
    for file in folder.glob("*.sqlite"):
        mark = file.with_suffix(".lock")
        if mark.exists() and mark.stat().st_mtime > before:
            continue
        lock = take_lock(file)
        if lock is None:
            continue
        for each in (file, *(file.with_name(file.name + ending) for ending in ("-wal", "-shm")), mark):
            each.unlink(missing_ok=True)
        os.close(lock)
