"""A copy of everything that a database holds, and a database made from one: beside whoever writes, or where nobody is.

A copy is read in one view of the data, as it was when the reading began. SQLite's writer goes on beside it, and so
does PostgreSQL's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec
import sqlalchemy as sa

from pilothouse.store import audit, restore_rows, schema, takeover, upgrade
from pilothouse.store.database import Database
from pilothouse.store.portable import Head, LineReader, LineWriter, compressed
from pilothouse.store.shared_tables import QUEUE_GONE
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError


class Restored(msgspec.Struct, frozen=True):
    """What came out of a copy."""

    files: Mapping[str, bytes]
    conversations: int
    # Conversations whose record was not as it was written when the copy was made.
    unsound: tuple[str, ...]


def write(database: Database, sink: BinaryIO, files: Mapping[str, bytes]) -> Mapping[str, int]:
    """Write a copy of a database and of these files; return how much of everything there is."""

    def query(connection: sa.Connection) -> Mapping[str, int]:
        head = Head(pilothouse="backup", schema=current_schema(connection))
        with compressed(sink) as packing:
            writer = LineWriter(packing, head)
            for name, content in files.items():
                writer.file(name, content)
            for table in schema.kept():
                writer.table(connection, table)
            writer.end()
        # A row may hold many events; they are counted from one without a gap.
        events = connection.execute(sa.select(sa.func.sum(schema.conversations.c.last_seq))).scalar()
        return writer.rows | {"events": int(events or 0)}

    database.check()
    return database.read_now(query)


def current_schema(connection: sa.Connection) -> str:
    """Return the schema of a database that can be copied: the one that this version works with."""
    version = upgrade.current_version(connection)
    if version is None:
        raise PilothouseError("not_found", "There is nothing in the database yet.")
    if version != upgrade.HEAD:
        raise PilothouseError(
            "conflict",
            f"The database is that of another version of Pilothouse (schema {version}).",
            fix="Start this version once, or use that one.",
        )
    return version


def read(
    database: Database, lines: LineReader, folder: Path, names: frozenset[str], *, instead: bool = False
) -> Restored:
    """Fill a database from a copy, whole or not at all; with `instead`, in the place of what it holds."""
    if lines.head.pilothouse != "backup":
        raise lines.refused("holds single conversations: `pilothouse conversations import` takes it")
    files: dict[str, bytes] = {}

    def take(name: str, content: bytes) -> None:
        if name not in names or name in files or len(content) > limits.SETTINGS_FILE_BYTES:
            raise ValueError(name)
        files[name] = content

    def work(connection: sa.Connection) -> Restored:
        if instead:
            _empty(connection)
        with lines.refusing():
            restore_rows.fill(connection, lines, folder, take)
            restore_rows.make_findable(connection)
        counted = connection.execute(sa.select(sa.func.count()).select_from(schema.conversations)).scalar_one()
        return Restored(files=files, conversations=counted, unsound=tuple(audit.unsound(connection)))

    database.check()
    return database.write_now(work)


def is_used(database: Database) -> bool:
    """Return whether a database holds anything of ours; raise if a process uses it right now."""

    def query(connection: sa.Connection) -> bool:
        if upgrade.current_version(connection) is None:
            return False
        if takeover.seen_lately(connection):
            raise PilothouseError(
                "data_locked",
                "A Pilothouse is using this database.",
                fix=f"Stop it first; one that was killed is gone after {limits.SHARED_QUIET:g} seconds.",
            )
        return True

    database.check()
    return database.read_now(query)


def _empty(connection: sa.Connection) -> None:
    """Take our tables away; with the transaction they come back."""
    known = sa.MetaData()
    ours = set(sa.inspect(connection).get_table_names()) & {*schema.metadata.tables, "alembic_version"}
    known.reflect(connection, only=sorted(ours))
    known.drop_all(connection)
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(QUEUE_GONE.replace("%", "%%"))
