"""What can go wrong with a database, told as one sentence with its fix."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from pilothouse.types.errors import PilothouseError, told
from pilothouse.types.lazy import Lazy

_DISK_FULL = ("database or disk is full", "no space left", "disk full", "could not extend file")
_READ_ONLY = ("readonly database", "read-only file system", "disk i/o error", "unable to open database file")
_CORRUPT = ("malformed", "file is not a database", "database corruption", "invalid page")
# What PostgreSQL gave up or ended, by the class or the code of its error: it may well work the next time.
_GIVEN_UP = ("08", "40", "53", "57", "25P03", "55P03")
_NOT_ALLOWED = "42501"
_LOCKED = ("database is locked", "database table is locked")


class _Errors(NamedTuple):
    """What SQLAlchemy raises for a database, and what of it may work the next time."""

    every: tuple[type[Exception], ...]
    passing: tuple[type[Exception], ...]


def _of_alchemy() -> _Errors:
    from sqlalchemy import exc

    return _Errors((exc.DBAPIError, exc.TimeoutError), (exc.OperationalError, exc.InterfaceError, exc.TimeoutError))


# Called by whoever makes an engine: before that, none of them can come.
alchemy_errors = Lazy(_of_alchemy)


def translate(error: Exception) -> PilothouseError:
    """Return the sentence for a failure of the database."""
    if (known := told(error)) is not None:
        return known
    text = str(getattr(error, "orig", None) or error).lower()
    if any(word in text for word in _DISK_FULL):
        return disk_full()
    if any(word in text for word in _CORRUPT):
        return PilothouseError(
            "database_corrupt",
            "The database file is damaged.",
            fix="Bring a backup back with `pilothouse restore`, or move the file away to start empty.",
        )
    if any(word in text for word in _LOCKED):
        return PilothouseError(
            "data_locked", "Another program holds the database.", fix="Close it, or wait a moment and try again."
        )
    if any(word in text for word in _READ_ONLY):
        return PilothouseError(
            "database",
            "The database cannot be written.",
            fix="Check that the data folder is writable and the disk healthy.",
        )
    if _state(error) == _NOT_ALLOWED:
        return PilothouseError(
            "database",
            f"The database does not let its user do this: {first_line(error)}.",
            fix="Let the user of PILOTHOUSE_DATABASE_URL create tables: GRANT ALL ON SCHEMA public TO that user.",
        )
    if _is_passing(error) or _given_up(error):
        return PilothouseError("database", f"The database failed: {first_line(error)}", fix="Try again in a moment.")
    # A statement the database refuses will be refused again; waiting does not help.
    return PilothouseError("internal", "The database refused a change.", fix="The log has the details.")


def _is_passing(error: Exception) -> bool:
    alchemy = alchemy_errors.made
    return isinstance(error, (*(alchemy.passing if alchemy else ()), sqlite3.OperationalError, OSError))


def _given_up(error: Exception) -> bool:
    return _state(error).startswith(_GIVEN_UP)


def _state(error: Exception) -> str:
    """Return PostgreSQL's code for an error; empty for what has none."""
    state = getattr(getattr(error, "orig", None) or error, "sqlstate", None)
    return state if isinstance(state, str) else ""


def disk_full() -> PilothouseError:
    """Return the sentence for a disk without room."""
    return PilothouseError(
        "disk_full", "The disk is full, so nothing new can be saved.", fix="Free some space; work then goes on."
    )


def first_line(error: Exception) -> str:
    """Return the first line of a database's own words, without statements or values."""
    origin = getattr(error, "orig", None) or error
    lines = str(origin).strip().splitlines()
    return lines[0].strip() if lines else type(origin).__name__


def database_errors() -> tuple[type[Exception], ...]:
    """Return what a database raises: SQLAlchemy's errors too, once anyone connects through it."""
    alchemy = alchemy_errors.made
    return (*(alchemy.every if alchemy else ()), sqlite3.Error, OSError)
