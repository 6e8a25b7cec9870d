"""Gives the room of what was deleted or packed back to the disk, a little at a time. PostgreSQL does that by itself."""

from __future__ import annotations

import contextlib
import logging

from pilothouse.store.database import Database
from pilothouse.store.faults import database_errors
from pilothouse.store.sqlite_file import Bare
from pilothouse.store.statements import Connection
from pilothouse.types import limits

_log = logging.getLogger(__name__)
# As SQLite numbers its ways; a file that was made without any can be changed only by writing all of it anew.
_NEVER, _IN_STEPS = 0, 2


def can_give_back(connection: Connection) -> bool:
    """Tell whether the file has more free pages than will soon be used again."""
    return _number(connection, "auto_vacuum") == _IN_STEPS and _number(connection, "freelist_count") > limits.FREE_PAGES


def give_back(connection: Connection) -> None:
    """Give some free pages back, from the end of the file."""
    cursor = connection.connection.cursor()
    # One at a time: of a statement without columns the driver does the first step only. A page of SQLite's own map
    # may go along.
    for _ in range(limits.GIVEN_BACK_PAGES - 1):
        cursor.execute("PRAGMA incremental_vacuum(1)")


def make_able(database: Database) -> None:
    """Write a file of an earlier version anew, once, when most of it is free; later ones are given back in steps."""
    if not database.is_sqlite:
        return
    # Without room for the copy it stays as it is; its free pages are used again.
    with contextlib.suppress(*database_errors()), database.file.connection() as bare:
        pages, free = (_number(bare, name) for name in ("page_count", "freelist_count"))
        in_use = (pages - free) * _number(bare, "page_size")
        if _number(bare, "auto_vacuum") != _NEVER or free * 2 <= pages or in_use > limits.WRITTEN_ANEW_BYTES:
            return
        # Outside of any transaction, as it must be.
        cursor = bare.cursor()
        cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
        cursor.execute("VACUUM")
        _log.info("the database was written anew without what was deleted: %d of %d pages", pages - free, pages)


def _number(connection: Connection | Bare, name: str) -> int:
    return int(connection.connection.cursor().execute(f"PRAGMA {name}").fetchone()[0])
