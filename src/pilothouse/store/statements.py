"""Statements of every message and every append, written out: SQLAlchemy's way costs ten times what they do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from pilothouse.store.nul import cleaned_values

Values = Mapping[str, object]


class Statement:
    """SQL with `:names` for both databases."""

    def __init__(self, sql: str) -> None:
        self._sqlite = sql
        self._postgresql = re.sub(r":(\w+)", r"%(\1)s", sql)

    def first(self, connection: sa.Connection, values: Values) -> Any:
        """Execute it and return the first column of the first row, or None."""
        row = self._run(connection, values).fetchone()
        return row[0] if row is not None else None

    def rows(self, connection: sa.Connection, values: Values) -> list[tuple[Any, ...]]:
        """Execute it and return all rows."""
        return [tuple(row) for row in self._run(connection, values).fetchall()]

    def column(self, connection: sa.Connection, values: Values) -> list[Any]:
        """Execute it and return the first column of all rows."""
        return [row[0] for row in self._run(connection, values).fetchall()]

    def run(self, connection: sa.Connection, values: Values) -> int:
        """Execute it and return how many rows it changed."""
        return int(self._run(connection, values).rowcount)

    def many(self, connection: sa.Connection, rows: Sequence[Values]) -> None:
        """Execute it for each of the rows."""
        if connection.dialect.name == "sqlite":
            connection.connection.cursor().executemany(self._sqlite, [cleaned_values(row) for row in rows])
        else:
            connection.exec_driver_sql(self._postgresql, list(rows))

    def _run(self, connection: sa.Connection, values: Values) -> Any:
        if connection.dialect.name == "sqlite":
            cursor = connection.connection.cursor()
            cursor.execute(self._sqlite, cleaned_values(values))
            return cursor
        # A connection over a network breaks; SQLAlchemy then knows which ones to throw away.
        return connection.exec_driver_sql(self._postgresql, dict(values))
