"""Brings a database to the current schema: creates it, upgrades an older one, refuses a newer one."""

from __future__ import annotations

import time
from pathlib import Path

from pilothouse.store.database import Database, alchemy
from pilothouse.store.faults import database_errors
from pilothouse.store.sqlite_file import copied
from pilothouse.store.statements import Connection, Statement
from pilothouse.types import durable_files, limits
from pilothouse.types.errors import PilothouseError

# The newest migration in `migrations/versions`; a test holds the two together.
HEAD = "0014"
KNOWN = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011", "0012", "0013", HEAD)
MIGRATIONS = Path(__file__).parent / "migrations"
# Any number, the same in every process: PostgreSQL's lock for those who would migrate at once.
_MIGRATION_LOCK = 7_420_001
# What `schema` and `search` make on SQLite, written out by `scripts/schema`; a test holds them together.
SQLITE_SCHEMA = Path(__file__).parent / "schema.sqlite.sql"
STATEMENT_END = ";\n\n"
VERSION_TABLE = "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"
_HAS_VERSION = {
    "sqlite": Statement("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'alembic_version'"),
    "postgresql": Statement("SELECT CAST(to_regclass('alembic_version') AS text)"),
}
_VERSION = Statement("SELECT version_num FROM alembic_version")
_SET_VERSION = Statement("INSERT INTO alembic_version VALUES (:head)")


def prepare(database: Database, backups: Path) -> None:
    """Create or upgrade the schema; whatever happens half-way is rolled back."""
    database.check()
    try:
        with database.writing() as connection:
            if not database.is_sqlite:
                _keep_others_waiting(connection)
            version = current_version(connection)
            if version is None:
                create(connection)
            elif version != HEAD:
                _refuse_unknown(version)
                _bring_up_to_date(database, connection, backups, version)
    except database_errors() as error:
        raise database.told(error) from error


def _keep_others_waiting(connection: Connection) -> None:
    from pilothouse.store import postgres

    postgres.take_time(connection, limits.DATABASE_UPGRADE, locks=True)
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%(id)s)", {"id": _MIGRATION_LOCK})


def _bring_up_to_date(database: Database, connection: Connection, backups: Path, version: str) -> None:
    try:
        if database.is_sqlite:
            back_up(database.file.path, backups, version)
        migrate(alchemy(connection))
    except database_errors() as error:
        told = database.told(error)
        raise (_no_room() if told.code == "disk_full" else told) from error


def refuse_if_old(database: Database) -> None:
    """Raise if a database cannot be read as it is, for which there is no room to change it."""
    database.check()
    version = database.read_now(current_version)
    if version is not None:
        _refuse_unknown(version)
    if version != HEAD:
        raise _no_room()


def _no_room() -> PilothouseError:
    message = "The disk is full, and the database has to be brought up to date before it can be read."
    return PilothouseError("disk_full", message, fix="Free some space, then start again.")


def current_version(connection: Connection) -> str | None:
    """Return the schema's version, or None for an empty database."""
    if _HAS_VERSION[connection.dialect.name].first(connection, {}) is None:
        return None
    version: str | None = _VERSION.first(connection, {})
    return version


def create(connection: Connection) -> None:
    """Make the whole current schema at once, which importing a migration tool would only slow down."""
    if connection.dialect.name == "sqlite":
        for statement in SQLITE_SCHEMA.read_text(encoding="utf-8").removesuffix(STATEMENT_END).split(STATEMENT_END):
            connection.connection.cursor().execute(statement)
    else:
        from pilothouse.store import schema, search, shared_tables, words

        schema.metadata.create_all(connection)
        for statement in (*search.POSTGRESQL_TABLES, *words.POSTGRESQL_TABLES):
            connection.exec_driver_sql(statement)
        shared_tables.make(connection)
        connection.exec_driver_sql(VERSION_TABLE)
    _SET_VERSION.run(connection, {"head": HEAD})


def _refuse_unknown(version: str) -> None:
    if version not in KNOWN:
        raise PilothouseError(
            "database_newer",
            f"The database was made by a newer Pilothouse (schema {version}).",
            fix="Upgrade Pilothouse, or set PILOTHOUSE_HOME to another folder.",
        )


def back_up(source: Path, backups: Path, version: str) -> Path:
    """Copy the database file, whole and consistent, before it is changed."""
    backups.mkdir(mode=0o700, exist_ok=True)
    target = backups / f"pilothouse-{version}-{time.strftime('%Y%m%d-%H%M%S')}.db"
    partial = target.with_suffix(".partial")
    try:
        # Only the owner may read it, from its first byte on.
        partial.touch(mode=0o600)
        # A second connection reads the last committed state; the migration has changed nothing yet.
        copied(source, partial)
        partial.replace(target)
    except BaseException:
        drop_partial(backups)
        raise
    durable_files.sync_names(backups)
    return target


def drop_partial(backups: Path) -> None:
    """Remove copies that were not finished: they take the room that the next attempt needs."""
    for partial in backups.glob("pilothouse-*.partial*"):
        partial.unlink(missing_ok=True)


def migrate(connection: Connection, to: str = "head") -> None:
    """Bring a database, also an empty one, to a version of the schema."""
    # Imported only here: a start that migrates nothing does not pay for it.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, to)
