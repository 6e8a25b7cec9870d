"""The embedded database: its file, and connections to it that are ready before SQLAlchemy would be imported.

A connection runs written-out statements on the driver itself. Whoever asks it for more gets SQLAlchemy's connection
over the same one, in the same transaction; only then is it imported, which takes longer than everything else that a
command does until it sends its message.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pilothouse.store.faults import alchemy_errors
from pilothouse.store.nul_characters import clean_parameters
from pilothouse.store.packed_text import has_part, plain_text
from pilothouse.types import limits

if TYPE_CHECKING:
    import sqlalchemy as sa

_PREFIX = "sqlite:///"
# What a connection is lent to SQLAlchemy by, in the thread that asks for it.
_lent = threading.local()


class Bare:
    """A connection to SQLite, with as much of SQLAlchemy's as statements and queries ask for."""

    dialect = SimpleNamespace(name="sqlite")

    def __init__(self, driver: sqlite3.Connection) -> None:
        self.driver_connection = driver
        self.cursor = driver.cursor
        self._alchemy: sa.Connection | None = None

    @property
    def connection(self) -> Bare:
        """What has the driver's connection, and gives cursors on it."""
        return self

    @property
    def alchemy(self) -> sa.Connection:
        """SQLAlchemy's connection over this one; its transaction is the one that was begun here."""
        if self._alchemy is None:
            _lent.driver = self.driver_connection
            self._alchemy = _lender().connect()
        return self._alchemy

    def execute(self, *arguments: Any, **options: Any) -> sa.CursorResult[Any]:
        return self.alchemy.execute(*arguments, **options)

    def exec_driver_sql(self, *arguments: Any, **options: Any) -> sa.CursorResult[Any]:
        """Execute the driver's own SQL, with SQLAlchemy's result."""
        return self.alchemy.exec_driver_sql(*arguments, **options)

    @contextlib.contextmanager
    def transaction(self, *, writes: bool) -> Iterator[None]:
        """Commit what the block does, or take all of it back."""
        # IMMEDIATE for writers: a deferred transaction that must upgrade fails instead of waiting.
        self.cursor().execute(f"BEGIN {'IMMEDIATE' if writes else 'DEFERRED'}")
        try:
            yield
            self.driver_connection.commit()
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self.driver_connection.rollback()
            raise

    def close(self) -> None:
        """Let go of the file."""
        if self._alchemy is not None:
            self._alchemy.close()
        self.driver_connection.close()


@cache
def _lender() -> sa.Engine:
    """Return an engine whose connections are lent: it neither opens, ends nor closes anything."""
    import sqlalchemy as sa

    alchemy_errors()
    engine = sa.create_engine("sqlite://", creator=lambda: _lent.driver, poolclass=sa.NullPool)
    for verb in ("do_commit", "do_rollback", "do_close"):
        setattr(engine.dialect, verb, lambda _connection: None)
    sa.event.listen(engine, "before_cursor_execute", clean_parameters, retval=True)
    return engine


class SqliteFile:
    """The connections to one file: as many as are used at once, of which a few are kept for the next."""

    def __init__(self, url: str, kept: int, *, alone: bool = False) -> None:
        self.path = Path(url.removeprefix(_PREFIX))
        # The only connection, which needs no room on the disk to be opened.
        self._alone = alone
        # How many are kept for the next; none once it is closed.
        self._kept_now = 1 if alone else kept
        self._free: list[Bare] = []
        self._lock = threading.Lock()

    def take(self) -> Bare:
        """Return a connection that nobody uses."""
        with self._lock:
            if self._free:
                return self._free.pop()
        return Bare(opened(self.path, alone=self._alone))

    def give_back(self, bare: Bare) -> None:
        """Keep a connection for whoever takes the next one."""
        with self._lock:
            if len(self._free) < self._kept_now and not bare.driver_connection.in_transaction:
                self._free.append(bare)
                return
        bare.close()

    @contextlib.contextmanager
    def connection(self) -> Iterator[Bare]:
        """Lend a connection for the block, without a transaction."""
        bare = self.take()
        try:
            yield bare
        finally:
            self.give_back(bare)

    @contextlib.contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[Bare]:
        """Lend a connection for the block, in a transaction."""
        with self.connection() as bare, bare.transaction(writes=writes):
            yield bare

    def close(self) -> None:
        """Close the connections that nobody uses, and each of the others when it is given back."""
        with self._lock:
            free, self._free, self._kept_now = self._free, [], 0
        for bare in free:
            bare.close()


def opened(path: Path, *, alone: bool = False) -> sqlite3.Connection:
    """Open a file with the settings that make it fast and safe."""
    # We begin transactions ourselves: the driver's own habit is to begin late and deferred.
    driver = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    try:
        if alone:
            # What connections tell each other stands in a file; the only one keeps it in memory.
            driver.execute("PRAGMA locking_mode=EXCLUSIVE")
        _prepare(driver)
    except BaseException:
        driver.close()
        raise
    return driver


def copied(source: Path, target: Path) -> None:
    """Copy a database file, whole and consistent, whoever writes to it meanwhile."""
    with (
        contextlib.closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as old,
        contextlib.closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)


def cache_size(kilobytes: int) -> str:
    """Return the pragma for how much of the file a connection keeps in memory."""
    return f"PRAGMA cache_size=-{kilobytes}"


def _prepare(driver: sqlite3.Connection) -> None:
    cursor = driver.cursor()
    cursor.execute(f"PRAGMA busy_timeout={int(limits.BUSY_TIMEOUT * 1000)}")
    # What triggers and queries ask of a packed text; the triggers are our own.
    driver.create_function("plain_text", 1, plain_text, deterministic=True)
    driver.create_function("has_part", 2, has_part, deterministic=True)
    # FULL: a commit is on disk when it returns. On macOS only a full fsync empties the drive's own cache.
    lasting = ("journal_mode=WAL", "synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON")
    if cursor.execute("PRAGMA page_count").fetchone()[0] == 0:
        # A property of the file, for which nothing may be written yet.
        cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
    for pragma in (*lasting, f"journal_size_limit={limits.WAL_BYTES}", "trusted_schema=ON", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.execute(cache_size(limits.READER_CACHE_KB))
    cursor.close()
