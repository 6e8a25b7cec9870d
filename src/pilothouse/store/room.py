"""Gives the room of what was deleted or packed back to the disk, a little at a time. PostgreSQL does that by itself."""

from __future__ import annotations

import contextlib
import logging

import sqlalchemy as sa

from pilothouse.store.database import Database
from pilothouse.store.faults import DATABASE_ERRORS
from pilothouse.types import limits

_log = logging.getLogger(__name__)
# As SQLite numbers its ways; a file that was made without any can be changed only by writing all of it anew.
_NEVER, _IN_STEPS = 0, 2


def can_give_back(connection: sa.Connection) -> bool:
    """Tell whether the file has more free pages than will soon be used again."""
    return _number(connection, "auto_vacuum") == _IN_STEPS and _number(connection, "freelist_count") > limits.FREE_PAGES


def give_back(connection: sa.Connection) -> None:
    """Give some free pages back, from the end of the file."""
    # Each page is a row without columns; whoever does not ask for all of them gives one back.
    connection.connection.cursor().execute(f"PRAGMA incremental_vacuum({limits.GIVEN_BACK_PAGES})").fetchall()


def make_able(database: Database) -> None:
    """Write a file of an earlier version anew, once, when most of it is free; later ones are given back in steps."""
    if not database.is_sqlite:
        return
    # Without room for the copy it stays as it is; its free pages are used again.
    with contextlib.suppress(*DATABASE_ERRORS), database.engine.connect() as connection:
        pages, free = (_number(connection, name) for name in ("page_count", "freelist_count"))
        in_use = (pages - free) * _number(connection, "page_size")
        connection.rollback()
        if _way(connection) != _NEVER or free * 2 <= pages or in_use > limits.WRITTEN_ANEW_BYTES:
            return
        # Outside of any transaction, as it must be.
        cursor = connection.connection.cursor()
        cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
        cursor.execute("VACUUM")
        _log.info("the database was written anew without what was deleted: %d of %d pages", pages - free, pages)


def _way(connection: sa.Connection) -> int:
    return int(connection.connection.cursor().execute("PRAGMA auto_vacuum").fetchone()[0])


def _number(connection: sa.Connection, name: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
