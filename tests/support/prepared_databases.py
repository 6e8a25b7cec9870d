"""PostgreSQL databases that have the current schema and nothing in it, without making the schema for each test.

A server's data with such a database is made once for a run of the tests, and copied for each process of it. There a
database is emptied after its test and given to the next one. Deleting what few rows a test wrote takes a twentieth of
the processor time of making another database, and that half of making the schema.
"""

from __future__ import annotations

import fcntl
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from pilothouse.store import upgrade
from pilothouse.store.database import Database
from tests.support.postgres import Postgres

TEMPLATE = "with_schema"
# What tells apart who changed only rows: each statement that changes anything else of a database is written down.
NOTE_CHANGES = """
CREATE SCHEMA tests;
CREATE TABLE tests.changes (statement text);
CREATE FUNCTION tests.note() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
  AS $$ BEGIN INSERT INTO tests.changes VALUES (tg_tag); END $$;
CREATE EVENT TRIGGER note ON ddl_command_end EXECUTE FUNCTION tests.note();
"""
# How it was opened, by whom and by what name is not of the database itself; neither are the versions it has.
IS_CHANGED = """
SELECT EXISTS (SELECT FROM tests.changes)
  OR EXISTS (SELECT FROM pg_db_role_setting JOIN pg_database ON setdatabase = pg_database.oid
             WHERE datname = current_database())
  OR EXISTS (SELECT FROM pg_largeobject_metadata)
  OR (SELECT datacl IS NOT NULL FROM pg_database WHERE datname = current_database())
  OR (SELECT array_agg(version_num::text) FROM alembic_version) IS DISTINCT FROM ARRAY[%s::text]
  OR pg_database_size(current_database()) > %s
"""
TABLES = "SELECT format('%I', tablename) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
SEQUENCES_ANEW = "SELECT setval(seqrelid, seqstart, false) FROM pg_sequence"
OTHERS_END = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
# Twice of what it has when it is new; deleting leaves the place that rows took.
LARGE = 20_000_000


def data(folder: Path) -> Path:
    """Return the data of a server that has the template; whoever asks first in a run of the tests makes it."""
    made = folder / "postgres-data"
    with (folder / "postgres-data.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            _make(folder, made)
    return made


def _make(folder: Path, made: Path) -> None:
    with TemporaryDirectory(dir=folder) as place:
        server = Postgres.start(Path(place))
        try:
            server.execute(f'CREATE DATABASE "{TEMPLATE}" STRATEGY file_copy')
            with closing(Database(server.url(TEMPLATE))) as database:
                upgrade.prepare(database, Path(place))
            with psycopg.connect(server.url(TEMPLATE), autocommit=True) as connection:
                connection.execute(NOTE_CHANGES)
            server.keep(made)
        finally:
            server.stop()


class PreparedDatabases:
    """The databases of one server that has the template."""

    def __init__(self, server: Postgres) -> None:
        self._server = server
        self._emptied: list[str] = []
        self._tables: list[str] = []

    @contextmanager
    def one(self) -> Iterator[str]:
        """Give a database under a name used only once, so that a late connection of an earlier test cannot reach it."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        if self._emptied:
            self._server.execute(f'ALTER DATABASE "{self._emptied.pop()}" RENAME TO "{name}"')
        else:
            self._server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{TEMPLATE}" STRATEGY file_copy')
        try:
            yield self._server.url(name)
        finally:
            if (emptied := self._empty(name)) is not None:
                self._emptied.append(emptied)
            else:
                self._server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def _empty(self, name: str) -> str | None:
        """Delete what is in a database and return its new name; None if that does not make it as it was."""
        emptied = f"emptied_{uuid.uuid4().hex[:12]}"
        try:
            with psycopg.connect(self._server.url(name), autocommit=True) as connection:
                if connection.execute(IS_CHANGED, (upgrade.HEAD, LARGE)).fetchone() != (False,):
                    return None
                self._tables = self._tables or [table for (table,) in connection.execute(TABLES)]
                connection.execute(OTHERS_END)
                # Neither the order of the tables nor what happens after a deletion matters, but that it lasts.
                connection.execute("SET session_replication_role = replica; SET synchronous_commit = on")
                connection.execute("; ".join(f"DELETE FROM {table}" for table in self._tables).encode())
                connection.execute(SEQUENCES_ANEW)
            self._server.execute(f'ALTER DATABASE "{name}" RENAME TO "{emptied}"')
        except psycopg.Error:
            return None
        return emptied
