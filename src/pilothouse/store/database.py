"""Opens SQLite or PostgreSQL, and runs work on it away from the event loop.

A writer thread gathers whatever is waiting into one transaction (group commit); a few reader threads
answer everything else. A reader that is cancelled leaves its query to finish in its thread. SQLite has one
writer at a time; PostgreSQL has several, each with a connection of its own.

What is written is on disk when its caller hears of it. Only what says that it is no promise is left to the
system to write for a moment: a power cut may take the last of it, but nothing that was promised after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from pilothouse.store.connections import Callers, Connections, hanging
from pilothouse.store.faults import database_errors, disk_full, first_line, translate
from pilothouse.store.slow_reads import THREADS, SlowReads
from pilothouse.store.sqlite_file import Bare, SqliteFile, cache_size
from pilothouse.store.statements import Connection, Statement, together
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

if TYPE_CHECKING:
    import sqlalchemy as sa

T = TypeVar("T")
# Opens a connection to read with.
_Connect = Callable[[], "contextlib.AbstractContextManager[Connection]"]
READERS = 4
# Connections that are not closed after use: one for each thread, and for what runs beside them.
KEPT = READERS + THREADS + 2
# They go out together with the first statement, and with the last.
_BEGIN_WRITING = Statement("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
# One snapshot for all statements of a read: items and the number they are as of must agree.
_BEGIN_READING = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
_COMMIT = Statement("COMMIT")


def sqlite_file(folder: Path) -> Path:
    """Return the file of the embedded database in a data folder."""
    return folder / "pilothouse.db"


def sqlite_url(folder: Path) -> str:
    """Return the URL of the embedded database in a data folder."""
    return f"sqlite:///{sqlite_file(folder)}"


def has_room(folder: Path) -> bool:
    """Tell whether the disk has room for what SQLite needs to be opened as usual."""
    return shutil.disk_usage(folder).free >= limits.ROOM_TO_WRITE


class Unsure(PilothouseError):
    """The connection broke while a transaction was being committed: whether it was, nobody knows."""


class Database:
    """A file or a server with its threads.

    What runs in the threads is given a connection for statements, what runs in the caller's own SQLAlchemy's.
    """

    def __init__(self, url: str, connections: Connections | None = None, *, cramped: bool = False) -> None:
        self._url = url
        # The disk is full: one connection reads, in turns, and nothing is written until there is room.
        self.cramped = cramped
        self._turn = threading.Lock()
        self._connections = connections or Connections()
        self.is_sqlite = url.startswith("sqlite")
        # How many transactions may write at once.
        self.writers = 1 if self.is_sqlite else limits.DATABASE_WRITERS
        readers = READERS if self.is_sqlite else limits.DATABASE_READERS
        if self.is_sqlite:
            self.file = SqliteFile(url, KEPT, alone=cramped)
        else:
            # Imported only here: SQLite needs none of it.
            from pilothouse.store import postgres

            self.engine = postgres.make_engine(url, self.writers + readers + THREADS + 1, self._connections)
        self._writer = ThreadPoolExecutor(self.writers, thread_name_prefix="store-writer")
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="store-reader")
        # Who works in a thread that is not one of these.
        self._callers = Callers()
        self.slow = SlowReads(lambda query: self._once(self._reading, query))
        # The writer thread's connection to SQLite, and whether its commits wait for the disk.
        self._kept: Bare | None = None
        self._waits_for_disk = True
        # When everything was last on disk.
        self._synced = 0.0

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query in a reader thread, in one consistent view of the data."""
        reading = self._reading if self.is_sqlite else self._reading_together
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._asked, reading, query)

    async def look(self, query: Callable[[Connection], T]) -> T:
        """Run a query in a reader thread whose statements, one or several, need no transaction around them."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._asked, self._looking, query)

    def _asked(self, connect: _Connect, query: Callable[[Connection], T]) -> T:
        """Run a query, and once more if its connection was cut since it last worked: the database was restarted."""
        try:
            return self._once(connect, query)
        except PilothouseError as error:
            if not getattr(error.__cause__, "connection_invalidated", False) or self._connections.silent:
                raise
            return self._once(connect, query)

    def _once(self, connect: _Connect, query: Callable[[Connection], T]) -> T:
        self._connections.check()
        try:
            with self._turn if self.cramped else contextlib.nullcontext(), connect() as connection:
                return query(connection)
        except database_errors() as error:
            raise self.told(error) from error

    def read_now(self, query: Callable[[Connection], T]) -> T:
        with self._callers:
            return self._once(self._reading, lambda connection: query(alchemy(connection)))

    def told(self, error: Exception) -> PilothouseError:
        """Return the sentence for a failure; that of a connection that was cut is why it was."""
        self._connections.failures += 1
        return hanging() if self._connections.silent else translate(error)

    def _reading(self) -> contextlib.AbstractContextManager[Connection]:
        if self.is_sqlite:
            return _standing_in(self.file.transaction())
        return self._lifted(self.engine.execution_options(isolation_level="REPEATABLE READ"))

    def _reading_together(self) -> contextlib.AbstractContextManager[Connection]:
        return self._transaction(_BEGIN_READING)

    def _looking(self) -> contextlib.AbstractContextManager[Connection]:
        if self.is_sqlite:
            return self._reading()
        return self._bare().connect()

    def _bare(self) -> sa.Engine:
        """Return what begins no transaction by itself."""
        return self.engine.execution_options(isolation_level="AUTOCOMMIT")

    @contextlib.contextmanager
    def _lifted(self, engine: sa.Engine) -> Iterator[Connection]:
        """Have a transaction on PostgreSQL that may take as long as it needs, as for a copy of everything."""
        from pilothouse.store import postgres

        with engine.begin() as connection:
            postgres.lift(connection)
            yield connection

    @contextlib.contextmanager
    def _transaction(self, begin: Statement) -> Iterator[Connection]:
        """Have a transaction on PostgreSQL, whose statements are waited for only where their answer is read."""
        with self._bare().connect() as connection:
            committing = False
            try:
                with together(connection):
                    begin.run(connection, {})
                    yield connection
                    committing = True
                    _COMMIT.run(connection, {})
            except database_errors() as error:
                if committing and getattr(error, "connection_invalidated", False):
                    said = self.told(error)
                    raise Unsure(said.code, said.message, fix=said.fix) from error
                raise

    async def write(self, work: Callable[[Connection], T], *, promised: bool = True) -> T:
        """Run work in the writer thread, in one transaction; unless it is no promise, it is then on disk."""
        loop = asyncio.get_running_loop()
        if self.is_sqlite:
            return await loop.run_in_executor(self._writer, self._write_kept, work, promised)
        # When PostgreSQL's commits are on disk is its administrator's setting.
        return await loop.run_in_executor(self._writer, self._write_together, work)

    def _write_together(self, work: Callable[[Connection], T]) -> T:
        self._connections.check()
        try:
            with self._transaction(_BEGIN_WRITING) as connection:
                return work(connection)
        except database_errors() as error:
            raise self.told(error) from error

    def _write_kept(self, work: Callable[[Connection], T], promised: bool) -> T:
        """Run work in the writer thread on its own connection, which costs less than taking one each time."""
        self._need_room()
        try:
            # What is no promise is left behind for a while, and not for as long as nothing is promised.
            waits = promised or time.monotonic() - self._synced > limits.UNSYNCED_SECONDS
            bare = self._writing(waits)
            with bare.transaction(writes=True):
                done = work(cast("Connection", bare))
            if waits:
                self._synced = time.monotonic()
            return done
        except database_errors() as error:
            self._drop_kept()
            raise self.told(error) from error

    def _need_room(self) -> None:
        """Open the database as usual once there is room again; until then refuse to write."""
        if not self.cramped:
            return
        if not has_room(self.file.path.parent):
            raise disk_full()
        with self._turn:
            self.file.close()
            self.file = SqliteFile(self._url, KEPT)
            self.cramped = False

    def _writing(self, waits: bool) -> Bare:
        """Return the writer's connection, whose commits wait for the disk or do not."""
        if self._kept is None:
            self._kept = self.file.take()
            self._kept.cursor().execute(cache_size(limits.WRITER_CACHE_KB))
            self._waits_for_disk = True
        if waits is not self._waits_for_disk:
            # The log is one file: a commit that waits for the disk takes along all that did not.
            self._kept.cursor().execute(f"PRAGMA synchronous={'FULL' if waits else 'NORMAL'}")
            self._waits_for_disk = waits
        return self._kept

    def _drop_kept(self) -> None:
        """Close the writer's connection: whoever gets another one may promise something."""
        if self._kept is not None:
            kept, self._kept = self._kept, None
            with contextlib.suppress(*database_errors()):
                kept.close()

    def write_now(self, work: Callable[[Connection], T]) -> T:
        """Run work in this thread, in one transaction."""
        self._connections.check()
        try:
            with self._callers, self.writing() as connection:
                return work(alchemy(connection))
        except database_errors() as error:
            raise self.told(error) from error

    def writing(self) -> contextlib.AbstractContextManager[Connection]:
        """Begin a transaction that writes, with a connection for statements."""
        return _standing_in(self.file.transaction(writes=True)) if self.is_sqlite else self._lifted(self.engine)

    def check(self) -> None:
        """Connect once; raise a sentence that says what is wrong with the address or the file."""
        try:
            if self.is_sqlite:
                with self.file.connection():
                    return
            with self.engine.connect() as connection:
                connection.exec_driver_sql("SELECT 1")
        except database_errors() as error:
            if self.is_sqlite:
                raise translate(error) from error
            raise PilothouseError(
                "database",
                f"The database at {_place(self.engine.url)} cannot be reached: {first_line(error)}",
                fix="Check PILOTHOUSE_DATABASE_URL and that PostgreSQL runs, or unset it to use SQLite.",
            ) from error

    def close(self) -> None:
        """End the threads and connections; work already given to them finishes first, if the database answers."""
        ending = threading.Thread(target=self._end_threads, name="store-ending", daemon=True)
        ending.start()
        ending.join(None if self.is_sqlite else limits.DATABASE_CLOSE)
        while ending.is_alive():
            # Again and again: what is cut may be followed by something that waited behind it.
            self._connections.silent = True
            self._connections.cut()
            ending.join(limits.STORE_RETRY)
        self._drop_kept()
        if self.is_sqlite:
            self.file.close()
        else:
            self.engine.dispose()

    def _end_threads(self) -> None:
        self._writer.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        self.slow.close()
        self._callers.end()


def _place(url: sa.URL) -> str:
    """Return where a database is, as the driver finds it: what an address leaves out, the environment may say."""
    host, port = url.host or os.environ.get("PGHOST") or "localhost", url.port or os.environ.get("PGPORT") or 5432
    return f"{host}:{port}"


def alchemy(connection: Connection) -> Connection:
    """Return SQLAlchemy's own connection, for what asks more of it than to execute."""
    return cast("Connection", getattr(connection, "alchemy", connection))


def _standing_in(
    bare: contextlib.AbstractContextManager[Bare],
) -> contextlib.AbstractContextManager[Connection]:
    """Return it as what it stands in for: SQLite's connection has all that statements and queries use."""
    return cast("contextlib.AbstractContextManager[Connection]", bare)
