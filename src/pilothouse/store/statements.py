"""Statements of every message and every append, written out: SQLAlchemy's way costs ten times what they do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from pilothouse.store.nul_characters import cleaned_values

if TYPE_CHECKING:
    import sqlalchemy as sa

# A connection to either database; SQLAlchemy is imported only where more of it is needed than its name.
Connection: TypeAlias = "sa.Connection"
Values = Mapping[str, object]
# Connections on which statements are sent without waiting for each, and what ends that.
_together: WeakKeyDictionary[Any, ExitStack] = WeakKeyDictionary()


@contextmanager
def together(connection: Connection) -> Iterator[None]:
    """Send the statements within one after the other, and wait only for those whose answer is read, and at the end.

    Each still sees what those before it did. Over a network that is a round trip or two instead of one for each.
    """
    if connection.dialect.name == "sqlite" or (driver := _driver(connection)) in _together:
        yield
        return
    # Imported where there is such a connection already.
    import psycopg
    import sqlalchemy as sa

    try:
        with ExitStack() as stack:
            stack.enter_context(driver.pipeline())
            _together[driver] = stack
            stack.callback(_together.pop, driver)
            yield
    except psycopg.Error as error:
        # As SQLAlchemy tells it, and does, when it executes a statement itself.
        if driver.closed:
            connection.invalidate(error)
        raise sa.exc.DBAPIError.instance(
            None, None, error, psycopg.Error, connection_invalidated=driver.closed, dialect=connection.dialect
        ) from error


def one_by_one(driver: object) -> None:
    """Wait for each statement from now on: whoever executes the next one reads its answer in another way than ours."""
    if (stack := _together.get(driver)) is not None:
        stack.close()


class Statement:
    """SQL with `:names` for both databases, or in other words for PostgreSQL."""

    def __init__(self, sql: str, postgresql: str | None = None) -> None:
        self._sqlite = sql
        self._postgresql = re.sub(r":(\w+)", r"%(\1)s", postgresql or sql)

    def first(self, connection: Connection, values: Values) -> Any:
        """Execute it and return the first column of the first row, or None."""
        row = self._run(connection, values).fetchone()
        return row[0] if row is not None else None

    def rows(self, connection: Connection, values: Values) -> list[tuple[Any, ...]]:
        """Execute it and return all rows."""
        return [tuple(row) for row in self._run(connection, values).fetchall()]

    def column(self, connection: Connection, values: Values) -> list[Any]:
        """Execute it and return the first column of all rows."""
        return [row[0] for row in self._run(connection, values).fetchall()]

    def run(self, connection: Connection, values: Values) -> None:
        """Execute it."""
        self._run(connection, values)

    def count(self, connection: Connection, values: Values) -> int:
        """Execute it and return how many rows it changed."""
        done = self._run(connection, values)
        if connection.dialect.name != "sqlite" and (driver := _driver(connection)) in _together:
            # Entering it once more waits for all answers.
            with driver.pipeline():
                pass
        return int(done.rowcount)

    def many(self, connection: Connection, rows: Sequence[Values]) -> None:
        """Execute it for each of the rows."""
        if not rows:
            return
        if connection.dialect.name == "sqlite":
            connection.connection.cursor().executemany(self._sqlite, [cleaned_values(row) for row in rows])
        elif (driver := _driver(connection)) in _together:
            driver.cursor().executemany(self._postgresql, [cleaned_values(row) for row in rows])
        else:
            connection.exec_driver_sql(self._postgresql, list(rows))

    def _run(self, connection: Connection, values: Values) -> Any:
        if connection.dialect.name == "sqlite":
            cursor = connection.connection.cursor()
            cursor.execute(self._sqlite, cleaned_values(values))
            return cursor
        if (driver := _driver(connection)) in _together:
            return driver.cursor().execute(self._postgresql, cleaned_values(values))
        # A connection over a network breaks; SQLAlchemy then knows which ones to throw away.
        return connection.exec_driver_sql(self._postgresql, dict(values))


def inserting(table: str, *columns: str) -> Statement:
    """Return what puts a row into a table, its values by the names of the columns."""
    names, values = ", ".join(f'"{name}"' for name in columns), ", ".join(f":{name}" for name in columns)
    return Statement(f"INSERT INTO {table} ({names}) VALUES ({values})")  # noqa: S608 - the names are ours


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection
