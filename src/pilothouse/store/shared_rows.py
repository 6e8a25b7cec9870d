"""The settings and sealed secrets that several processes on one PostgreSQL share; each change is told by NOTIFY."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

import sqlalchemy as sa

from pilothouse.store.database import Database, alchemy
from pilothouse.store.statements import Connection
from pilothouse.types.errors import PilothouseError
from pilothouse.types.shared import SharedRow

CHANNEL = "pilothouse_settings"
# Stands for all secrets: its version grows with each change of one of them.
SECRETS = "secrets"
_VERSIONS = sa.text("SELECT name, version FROM shared_settings")
_ROWS = sa.text("SELECT name, version, body FROM shared_settings WHERE name = ANY(:names)")
_LOCKED = sa.text("SELECT version, body FROM shared_settings WHERE name = :name FOR UPDATE")
_MADE = sa.text(
    "INSERT INTO shared_settings (name, version, body, updated_at) VALUES (:name, 1, :body, :at) "
    "ON CONFLICT (name) DO NOTHING"
)
_CHANGED = sa.text(
    "UPDATE shared_settings SET version = version + 1, body = :body, updated_at = :at WHERE name = :name "
    "RETURNING version"
)
_TOLD = sa.text("SELECT pg_notify(:channel, :name)")
_ENTRIES = sa.text("SELECT name, entry FROM shared_secrets")
_PUT = "INSERT INTO shared_secrets (name, entry, updated_at) VALUES (:name, :entry, :at) ON CONFLICT (name) DO "
_PUT_FIRST = sa.text(_PUT + "NOTHING")
_PUT_INSTEAD = sa.text(_PUT + "UPDATE SET entry = excluded.entry, updated_at = excluded.updated_at")
_REMOVED = sa.text("DELETE FROM shared_secrets WHERE name = :name")


class PostgresSharedRows:
    """Implements the port `SharedRows`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def versions(self) -> Mapping[str, int]:
        return await self._database.look(_versions)

    def versions_now(self) -> Mapping[str, int]:
        return self._database.read_now(_versions)

    def rows(self, names: Collection[str]) -> Mapping[str, SharedRow]:
        return self._database.read_now(lambda connection: _rows(connection, names))

    def first(self, name: str, make: Callable[[], str]) -> SharedRow:
        found = self.rows([name]).get(name)
        if found is not None:
            return found
        # Outside the transaction: making it may keep secrets, too.
        body = make()

        def work(connection: Connection) -> SharedRow:
            connection = alchemy(connection)
            if connection.execute(_MADE, {"name": name, "body": body, "at": time.time()}).rowcount:
                _tell(connection, name)
            return _rows(connection, [name])[name]

        return self._database.write_now(work)

    def change(self, name: str, change: Callable[[SharedRow], str]) -> SharedRow:
        def work(connection: Connection) -> SharedRow:
            connection = alchemy(connection)
            found = connection.execute(_LOCKED, {"name": name}).one_or_none()
            if found is None:
                message = f"{name} is not in the database any more: someone took it out by hand."
                raise PilothouseError("conflict", message, fix="Restart Pilothouse, which makes it anew.")
            before = SharedRow(*found)
            body = change(before)
            if body == before.body:
                return before
            version = connection.execute(_CHANGED, {"name": name, "body": body, "at": time.time()}).scalar_one()
            _tell(connection, name)
            return SharedRow(version, body)

        return self._database.write_now(work)

    def put(self, name: str, body: str) -> None:
        """Put a row in the place of what there is, if anything."""
        self.first(name, lambda: body)
        self.change(name, lambda _before: body)


class PostgresSharedEntries:
    """Implements the port `SharedEntries`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(self) -> tuple[int, Mapping[str, bytes]]:
        # In one view of the data: the version is that of these entries.
        return self._database.read_now(
            lambda connection: (
                _versions(connection).get(SECRETS, 0),
                {name: entry.encode() for name, entry in alchemy(connection).execute(_ENTRIES)},
            )
        )

    def begin(self, entries: Mapping[str, bytes]) -> None:
        def work(connection: Connection) -> None:
            connection = alchemy(connection)
            if connection.execute(_MADE, {"name": SECRETS, "body": "{}", "at": time.time()}).rowcount:
                for name, entry in entries.items():
                    connection.execute(_PUT_FIRST, {"name": name, "entry": entry.decode(), "at": time.time()})
                _tell(connection, SECRETS)

        self._database.write_now(work)

    def put(self, name: str, entry: bytes, *, unless_there: bool = False) -> int:
        put = _PUT_FIRST if unless_there else _PUT_INSTEAD
        return self._changed(put, {"name": name, "entry": entry.decode(), "at": time.time()})

    def remove(self, name: str) -> int:
        return self._changed(_REMOVED, {"name": name})

    def _changed(self, statement: sa.TextClause, values: Mapping[str, object]) -> int:
        def work(connection: Connection) -> int:
            connection = alchemy(connection)
            connection.execute(statement, values)
            changed = {"name": SECRETS, "body": "{}", "at": time.time()}
            version = int(connection.execute(_CHANGED, changed).scalar_one())
            _tell(connection, SECRETS)
            return version

        return self._database.write_now(work)


def _versions(connection: Connection) -> Mapping[str, int]:
    return {name: version for name, version in alchemy(connection).execute(_VERSIONS)}


def _rows(connection: Connection, names: Collection[str]) -> Mapping[str, SharedRow]:
    found = alchemy(connection).execute(_ROWS, {"names": list(names)})
    return {name: SharedRow(version, body) for name, version, body in found}


def _tell(connection: Connection, name: str) -> None:
    # Heard by others when the transaction is kept, and not at all if it is not.
    connection.execute(_TOLD, {"channel": CHANNEL, "name": name})
