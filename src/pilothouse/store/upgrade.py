"""Brings a database to the current schema: creates it, upgrades an older one, refuses a newer one."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from pilothouse.store import postgres, schema, search
from pilothouse.store.database import Database
from pilothouse.store.faults import DATABASE_ERRORS
from pilothouse.types import lasting, limits
from pilothouse.types.errors import PilothouseError

# The newest migration in `migrations/versions`; a test holds the two together.
HEAD = "0006"
KNOWN = ("0001", "0002", "0003", "0004", "0005", HEAD)
MIGRATIONS = Path(__file__).parent / "migrations"
# Any number, the same in every process: PostgreSQL's lock for those who would migrate at once.
_MIGRATION_LOCK = 7_420_001


def prepare(database: Database, backups: Path) -> None:
    """Create or upgrade the schema; whatever happens half-way is rolled back."""
    database.check()
    try:
        with database.engine.execution_options(writes=True).begin() as connection:
            postgres.take_time(connection, limits.DATABASE_UPGRADE, locks=True)
            if not database.is_sqlite:
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:id)"), {"id": _MIGRATION_LOCK})
            version = current_version(connection)
            if version is None:
                create(connection)
            elif version != HEAD:
                _refuse_unknown(version)
                _bring_up_to_date(database, connection, backups, version)
    except DATABASE_ERRORS as error:
        raise database.told(error) from error


def _bring_up_to_date(database: Database, connection: sa.Connection, backups: Path, version: str) -> None:
    try:
        if database.is_sqlite:
            back_up(Path(str(database.engine.url.database)), backups, version)
        migrate(connection)
    except DATABASE_ERRORS as error:
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


def current_version(connection: sa.Connection) -> str | None:
    """Return the schema's version, or None for an empty database."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


def create(connection: sa.Connection) -> None:
    """Make the whole current schema at once, which importing a migration tool would only slow down."""
    schema.metadata.create_all(connection)
    extra = search.SQLITE_TABLES if connection.dialect.name == "sqlite" else search.POSTGRESQL_TABLES
    for statement in extra:
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
    connection.execute(sa.text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})


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
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as old,
            closing(sqlite3.connect(partial)) as new,
        ):
            old.backup(new)
        partial.replace(target)
    except BaseException:
        drop_partial(backups)
        raise
    lasting.sync_names(backups)
    return target


def drop_partial(backups: Path) -> None:
    """Remove copies that were not finished: they take the room that the next attempt needs."""
    for partial in backups.glob("pilothouse-*.partial*"):
        partial.unlink(missing_ok=True)


def migrate(connection: sa.Connection, to: str = "head") -> None:
    """Bring a database, also an empty one, to a version of the schema."""
    # Imported only here: a start that migrates nothing does not pay for it.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, to)
