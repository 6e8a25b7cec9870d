"""Opens the store: takes the folder's lock, brings the schema up to date, starts the threads."""

from __future__ import annotations

import os
from pathlib import Path

from pilothouse.store import upgrade, vacuum
from pilothouse.store.connections import Connections
from pilothouse.store.database import Database, has_room, sqlite_file, sqlite_url
from pilothouse.store.faults import translate
from pilothouse.store.lock import FolderLock
from pilothouse.store.store import Store
from pilothouse.store.writer import Publish


class OpenStore:
    """A store that is open, and what must be released when it closes."""

    def __init__(self, store: Store, database: Database, lock: FolderLock | None) -> None:
        self.store = store
        self.database = database
        self._lock = lock

    async def close(self) -> None:
        """Finish writing, close the database, give the folder back."""
        await self.store.close()
        if self._lock is not None:
            self._lock.release()


def close_to_others(path: Path) -> None:
    """Let only the owner read the file, from its first byte on; SQLite's other files take its mode over."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        path.chmod(0o600)
    except OSError as error:
        raise translate(error) from error


def open_store(
    folder: Path,
    database_url: str | None,
    publish: Publish,
    connections: Connections | None = None,
    *,
    executes_own: bool = False,
) -> OpenStore:
    """Open the embedded database in a folder, or the one at a URL, whose connections `connections` gets to know.

    `executes_own` is for a process that executes what it queues itself: others are not told of it.
    """
    lock = None
    if database_url is None:
        # With PostgreSQL several processes share the data on purpose.
        lock = FolderLock(folder)
        lock.acquire()
    database = None
    try:
        if database_url is None:
            close_to_others(sqlite_file(folder))
            upgrade.drop_partial(folder / "backups")
        cramped = database_url is None and not has_room(folder)
        database = Database(database_url or sqlite_url(folder), connections, cramped=cramped)
        if cramped:
            upgrade.refuse_if_old(database)
        else:
            upgrade.prepare(database, folder / "backups")
            vacuum.make_able(database)
    except BaseException:
        if database is not None:
            database.close()
        if lock is not None:
            lock.release()
        raise
    return OpenStore(Store(database, publish, folder, executes_own=executes_own), database, lock)
