"""Opens SQLite or PostgreSQL, and runs work on it away from the event loop.

One writer thread gathers whatever is waiting into one transaction (group commit); a few reader threads
answer everything else. A reader that is cancelled leaves its query to finish in its thread.

What is written is on disk when its caller hears of it. Only what says that it is no promise is left to the
system to write for a moment: a power cut may take the last of it, but nothing that was promised after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy import event as sa_event

from pilothouse.store import postgres
from pilothouse.store.faults import DATABASE_ERRORS, disk_full, first_line, translate
from pilothouse.store.lines import Lines, hanging
from pilothouse.store.nul import clean_parameters
from pilothouse.store.packed_text import has_part, plain_text
from pilothouse.store.slow_reads import THREADS, SlowReads
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

T = TypeVar("T")
READERS = 4


def sqlite_file(folder: Path) -> Path:
    """Return the file of the embedded database in a data folder."""
    return folder / "pilothouse.db"


def sqlite_url(folder: Path) -> str:
    """Return the URL of the embedded database in a data folder."""
    return f"sqlite:///{sqlite_file(folder)}"


def has_room(folder: Path) -> bool:
    """Tell whether the disk has room for what SQLite needs to be opened as usual."""
    return shutil.disk_usage(folder).free >= limits.ROOM_TO_WRITE


def make_engine(url: str, *, alone: bool = False) -> sa.Engine:
    """Return an engine with the settings both databases need to be fast and safe.

    One that is `alone` has a single connection to SQLite, which needs no room on the disk to be opened.
    """
    if url.startswith("sqlite"):
        size = 1 if alone else READERS + THREADS + 2
        engine = sa.create_engine(
            url, pool_size=size, max_overflow=0 if alone else 10, connect_args={"check_same_thread": False}
        )
        if alone:
            sa_event.listen(engine, "connect", lambda connection, _: _keep_others_out(connection))
        sa_event.listen(engine, "connect", _sqlite_pragmas)
        sa_event.listen(engine, "begin", _sqlite_begin)
    else:
        engine = postgres.make_engine(url, READERS + THREADS + 2)
    sa_event.listen(engine, "before_cursor_execute", clean_parameters, retval=True)
    return engine


def _cache(kilobytes: int) -> str:
    return f"cache_size=-{kilobytes}"


def _sqlite_pragmas(connection: object, _record: object) -> None:
    # We begin transactions ourselves: the driver's own habit is to begin late and deferred.
    connection.isolation_level = None  # type: ignore[attr-defined]
    cursor = connection.cursor()  # type: ignore[attr-defined]
    cursor.execute(f"PRAGMA busy_timeout={int(limits.BUSY_TIMEOUT * 1000)}")
    # What triggers and queries ask of a packed text; the triggers are our own.
    connection.create_function("plain_text", 1, plain_text, deterministic=True)  # type: ignore[attr-defined]
    connection.create_function("has_part", 2, has_part, deterministic=True)  # type: ignore[attr-defined]
    # FULL: a commit is on disk when it returns. On macOS only a full fsync empties the drive's own cache.
    lasting = ("journal_mode=WAL", "synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON")
    if cursor.execute("PRAGMA page_count").fetchone()[0] == 0:
        # A property of the file, for which nothing may be written yet.
        cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
    small = (f"journal_size_limit={limits.WAL_BYTES}", _cache(limits.READER_CACHE_KB))
    for pragma in (*lasting, *small, "trusted_schema=ON", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _keep_others_out(connection: object) -> None:
    # What connections tell each other stands in a file; the only one keeps it in memory.
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")  # type: ignore[attr-defined]


def _sqlite_begin(connection: sa.Connection) -> None:
    # IMMEDIATE for writers: a deferred transaction that must upgrade fails instead of waiting.
    mode = "IMMEDIATE" if connection.get_execution_options().get("writes") else "DEFERRED"
    connection.connection.cursor().execute(f"BEGIN {mode}")


class Database:
    """An engine with its threads."""

    def __init__(self, url: str, lines: Lines | None = None, *, cramped: bool = False) -> None:
        self._url = url
        # The disk is full: one connection reads, in turns, and nothing is written until there is room.
        self.cramped = cramped
        self._turn = threading.Lock()
        self.engine = make_engine(url, alone=cramped)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._lines = lines or Lines()
        if not self.is_sqlite:
            sa_event.listen(self.engine, "connect", self._lines.add, insert=True)
            # Whose connection was cut would open another one, and wait for that.
            sa_event.listen(self.engine, "do_connect", lambda *_how: self._lines.check())
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="store-reader")
        self.slow = SlowReads(self.read_now)
        # The writer thread's connection to SQLite, and whether its commits wait for the disk.
        self._kept: sa.Connection | None = None
        self._waits_for_disk = True
        # When everything was last on disk.
        self._synced = 0.0

    async def read(self, query: Callable[[sa.Connection], T]) -> T:
        """Run a query in a reader thread, in one consistent view of the data."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self.read_now, query)

    async def look(self, query: Callable[[sa.Connection], T]) -> T:
        """Run a query of one statement in a reader thread, which needs no transaction around it."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._look_now, query)

    def _look_now(self, query: Callable[[sa.Connection], T]) -> T:
        if self.is_sqlite:
            return self.read_now(query)
        self._lines.check()
        try:
            with self.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
                return query(connection)
        except DATABASE_ERRORS as error:
            raise self.told(error) from error

    def read_now(self, query: Callable[[sa.Connection], T]) -> T:
        """Run a query in this thread."""
        self._lines.check()
        try:
            with self._turn if self.cramped else contextlib.nullcontext(), self._reading() as connection:
                return query(connection)
        except DATABASE_ERRORS as error:
            raise self.told(error) from error

    def told(self, error: Exception) -> PilothouseError:
        """Return the sentence for a failure; that of a connection that was cut is why it was."""
        return hanging() if self._lines.silent else translate(error)

    def _reading(self) -> contextlib.AbstractContextManager[sa.Connection]:
        if self.is_sqlite:
            return self.engine.begin()
        # One snapshot for all statements of a read: items and the number they are as of must agree.
        return self.engine.execution_options(isolation_level="REPEATABLE READ").begin()

    async def write(self, work: Callable[[sa.Connection], T], *, promised: bool = True) -> T:
        """Run work in the writer thread, in one transaction; unless it is no promise, it is then on disk."""
        loop = asyncio.get_running_loop()
        if self.is_sqlite:
            return await loop.run_in_executor(self._writer, self._write_kept, work, promised)
        # When PostgreSQL's commits are on disk is its administrator's setting.
        return await loop.run_in_executor(self._writer, self.write_now, work)

    def _write_kept(self, work: Callable[[sa.Connection], T], promised: bool) -> T:
        """Run work in the writer thread on its own connection, which costs less than taking one each time."""
        self._need_room()
        try:
            # What is no promise is left behind for a while, and not for as long as nothing is promised.
            waits = promised or time.monotonic() - self._synced > limits.UNSYNCED_SECONDS
            connection = self._writing(waits)
            with connection.begin():
                done = work(connection)
            if waits:
                self._synced = time.monotonic()
            return done
        except DATABASE_ERRORS as error:
            self._drop_kept()
            raise translate(error) from error

    def _need_room(self) -> None:
        """Open the database as usual once there is room again; until then refuse to write."""
        if not self.cramped:
            return
        if not has_room(Path(self._url.removeprefix("sqlite:///")).parent):
            raise disk_full()
        with self._turn:
            self.engine.dispose()
            self.engine = make_engine(self._url)
            self.cramped = False

    def _writing(self, waits: bool) -> sa.Connection:
        """Return the writer's connection, whose commits wait for the disk or do not."""
        if self._kept is None:
            self._kept = self.engine.connect().execution_options(writes=True)
            self._kept.connection.cursor().execute(f"PRAGMA {_cache(limits.WRITER_CACHE_KB)}")
            self._waits_for_disk = True
        if waits is not self._waits_for_disk:
            # The log is one file: a commit that waits for the disk takes along all that did not.
            self._kept.connection.cursor().execute(f"PRAGMA synchronous={'FULL' if waits else 'NORMAL'}")
            self._waits_for_disk = waits
        return self._kept

    def _drop_kept(self) -> None:
        if self._kept is not None:
            kept, self._kept = self._kept, None
            try:
                # Whoever gets it next may promise something.
                kept.connection.cursor().execute("PRAGMA synchronous=FULL")
            except DATABASE_ERRORS:
                kept.invalidate()
            with contextlib.suppress(*DATABASE_ERRORS):
                kept.close()

    def write_now(self, work: Callable[[sa.Connection], T]) -> T:
        """Run work in this thread, in one transaction."""
        self._lines.check()
        try:
            with self.engine.execution_options(writes=True).begin() as connection:
                return work(connection)
        except DATABASE_ERRORS as error:
            raise self.told(error) from error

    def check(self) -> None:
        """Connect once; raise a sentence that says what is wrong with the address or the file."""
        try:
            with self.engine.connect() as connection:
                connection.exec_driver_sql("SELECT 1")
        except DATABASE_ERRORS as error:
            if self.is_sqlite:
                raise translate(error) from error
            raise PilothouseError(
                "database",
                f"The database at {self.engine.url.host}:{self.engine.url.port or 5432} cannot be reached: "
                f"{first_line(error)}",
                fix="Check PILOTHOUSE_DATABASE_URL and that PostgreSQL runs, or unset it to use SQLite.",
            ) from error

    def close(self) -> None:
        """End the threads and connections; work already given to them finishes first, if the database answers."""
        ending = threading.Thread(target=self._end_threads, name="store-ending", daemon=True)
        ending.start()
        ending.join(None if self.is_sqlite else limits.DATABASE_CLOSE)
        while ending.is_alive():
            # Again and again: what is cut may be followed by something that waited behind it.
            self._lines.silent = True
            self._lines.cut()
            ending.join(limits.STORE_RETRY)
        self._drop_kept()
        self.engine.dispose()

    def _end_threads(self) -> None:
        self._writer.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        self.slow.close()
