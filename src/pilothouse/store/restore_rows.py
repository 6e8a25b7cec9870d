"""Puts the rows of a copy into an empty database of the copy's own schema, and brings that up to date."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pilothouse.store import portable, rows, schema, search, upgrade
from pilothouse.store.portable import FileLine, Line, LineReader, TableLine, Value
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

_NOT_LOADED = frozenset(table.name for table in (*schema.DERIVED, *schema.OF_THE_MOMENT)) | {"alembic_version"}
Take = Callable[[str, bytes], None]


def fill(connection: sa.Connection, lines: LineReader, folder: Path, take: Take) -> None:
    """Fill an empty database from a copy; files in it are given to `take`. `folder` is where it needs room."""
    version = lines.head.schema
    if version not in upgrade.KNOWN:
        message = f"This file was made by a newer Pilothouse (schema {version}). Nothing was changed."
        raise PilothouseError("database_newer", message, fix="Upgrade Pilothouse, then try again.")
    if version == upgrade.HEAD:
        upgrade.create(connection)
    else:
        upgrade.migrate(connection, version)
    names = set(sa.inspect(connection).get_table_names()) - _NOT_LOADED
    _load(connection, _with_room(lines, folder), names, take)
    _count_on(connection, names)
    if version != upgrade.HEAD:
        upgrade.migrate(connection)


def _count_on(connection: sa.Connection, names: Collection[str]) -> None:
    """Let the numbers of new rows come after those that were put in; SQLite does so by itself."""
    if connection.dialect.name == "sqlite":
        return
    for name in sorted(names):
        sequence = connection.execute(
            sa.text(
                "SELECT pg_get_serial_sequence(:name, 'id') FROM information_schema.columns "
                "WHERE table_name = :name AND column_name = 'id' AND data_type IN ('integer', 'bigint')"
            ),
            {"name": name},
        ).scalar()
        if sequence is not None:
            newest = connection.execute(sa.select(sa.func.max(sa.column("id"))).select_from(sa.table(name))).scalar()
            connection.execute(sa.select(sa.func.setval(sequence, newest or 1, newest is not None)))


def _with_room(lines: Iterable[Line], folder: Path) -> Iterable[Line]:
    """Yield the lines while the disk has room for more."""
    since = limits.LOADED_CHARS
    for line in lines:
        since += _weight(line) if isinstance(line, list) else 0
        if since >= limits.LOADED_CHARS:
            since = 0
            if shutil.disk_usage(folder).free < limits.LOADING_LEAVES_FREE:
                message = "There is no room on the disk for what is in this file. Nothing was changed."
                raise PilothouseError("disk_full", message, fix=f"Make room at {folder}.")
        yield line


def _weight(row: Iterable[object]) -> int:
    return sum(len(value) for value in row if isinstance(value, str | list)) + 1


def _load(connection: sa.Connection, lines: Iterable[Line], names: Collection[str], take: Take) -> None:
    batch: _Batch | None = None
    for line in lines:
        if isinstance(line, FileLine):
            take(line.name, portable.unpacked(line.content))
        elif isinstance(line, TableLine):
            if batch is not None:
                batch.flush()
            batch = _Batch(connection, line, names)
        elif batch is not None:
            batch.add(line)
    if batch is not None:
        batch.flush()


class _Batch:
    """Rows of one table that are put in together."""

    def __init__(self, connection: sa.Connection, line: TableLine, names: Collection[str]) -> None:
        if line.name not in names:
            raise ValueError(line.name)
        table = sa.Table(line.name, sa.MetaData(), autoload_with=connection)
        if not set(line.columns) <= set(table.columns.keys()):
            raise ValueError(line.columns)
        self._connection = connection
        self._insert = sa.insert(table)
        self._columns = [(name, _reader(table.columns[name].type)) for name in line.columns]
        self._rows: list[dict[str, Any]] = []
        self._weight = 0

    def add(self, row: list[Value]) -> None:
        """Take a row."""
        pairs = zip(self._columns, row, strict=True)
        self._rows.append({name: None if value is None else read(value) for (name, read), value in pairs})
        self._weight += _weight(row)
        if len(self._rows) >= limits.LOADED_ROWS or self._weight >= limits.LOADED_CHARS:
            self.flush()

    def flush(self) -> None:
        """Put in what was taken."""
        if self._rows:
            self._connection.execute(self._insert, self._rows)
        self._rows, self._weight = [], 0


def _reader(kind: sa.types.TypeEngine[Any]) -> Callable[[Value], object]:
    """Return what makes a value for a column of this type; it raises ValueError for what does not belong there."""
    if isinstance(kind, sa.LargeBinary):
        return portable.unpacked
    if isinstance(kind, sa.Boolean):
        return lambda value: _only(value, bool)
    if isinstance(kind, sa.Integer):
        return lambda value: _only(value, int)
    if isinstance(kind, sa.Numeric | sa.Float):
        return lambda value: float(_only(value, int, float))  # type: ignore[arg-type]
    # PostgreSQL takes no NUL in a text; an old SQLite may hold one.
    return lambda value: str(_only(value, str)).replace("\x00", " ")


def _only(value: Value, *kinds: type) -> object:
    if type(value) not in kinds:
        raise ValueError(value)
    return value


def make_findable(connection: sa.Connection) -> None:
    """Make everything findable that is, in a database without an index for searching."""
    streaming = {"yield_per": limits.COPIED_ROWS}
    for (body,) in connection.execute(sa.select(schema.items.c.body), execution_options=streaming):
        search.index_item(connection, rows.kept_item(body))
    table = schema.conversations
    titles = sa.select(table.c.id, table.c.title, table.c.updated_at)
    for row in connection.execute(titles, execution_options=streaming):
        search.index_title(connection, row.id, row.title, row.updated_at)
