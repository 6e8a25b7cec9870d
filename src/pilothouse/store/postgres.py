"""PostgreSQL: connections with a limit for everything, whichever of them the person did not set otherwise."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import event as sa_event

from pilothouse.store.connections import Connections
from pilothouse.store.faults import alchemy_errors
from pilothouse.store.nul_characters import clean_parameters
from pilothouse.store.statements import one_by_one
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg.abc import ConnParam
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry

# For libpq; times are in seconds save the last one.
_LINE: dict[str, ConnParam] = {
    "connect_timeout": limits.DATABASE_CONNECT,
    "keepalives": 1,
    "keepalives_idle": limits.DATABASE_KEEPALIVE,
    "keepalives_interval": limits.DATABASE_KEEPALIVE_EVERY,
    "keepalives_count": limits.DATABASE_KEEPALIVE_TRIES,
    "tcp_user_timeout": 1000
    * (limits.DATABASE_KEEPALIVE + limits.DATABASE_KEEPALIVE_EVERY * limits.DATABASE_KEEPALIVE_TRIES),
    "application_name": "pilothouse",
}
_SESSION = {
    "lock_timeout": limits.DATABASE_LOCK,
    "statement_timeout": limits.DATABASE_STATEMENT,
    "idle_in_transaction_session_timeout": limits.DATABASE_IDLE,
    # Since PostgreSQL 17.
    "transaction_timeout": limits.DATABASE_TRANSACTION,
}
# For the server, which then notices by itself that a client is gone: in milliseconds, and in seconds as it wants them.
_CLIENT_GONE = {
    "client_connection_check_interval": str(int(limits.DATABASE_CLIENT_CHECK * 1000)),
    "tcp_keepalives_idle": str(limits.DATABASE_KEEPALIVE),
    "tcp_keepalives_interval": str(limits.DATABASE_KEEPALIVE_EVERY),
    "tcp_keepalives_count": str(limits.DATABASE_KEEPALIVE_TRIES),
    "tcp_user_timeout": str(_LINE["tcp_user_timeout"]),
}
_LIFTED_SINCE = (17,)

# Not as options of the connection, which poolers refuse; and what the URL, the role, the database or the server's own
# file says stays as it is. A server on Windows can check no client.
_LIMIT = (
    "SELECT set_config(s.name, v.value, false) FROM pg_settings s "
    "JOIN unnest(%s::text[], %s::text[]) AS v(name, value) ON v.name = s.name WHERE s.source = 'default' "
    "AND NOT (s.name = 'client_connection_check_interval' AND version() ~* 'windows|mingw|visual|msvc')"
)


def parsed(url: str) -> sa.URL:
    """Return a URL for our driver; raise a sentence for what is none."""
    try:
        read = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        read = None
    if read is None or not read.drivername.startswith(("postgresql", "postgres")):
        raise PilothouseError(
            "database",
            "The database URL is not one Pilothouse can use.",
            fix="Set PILOTHOUSE_DATABASE_URL to postgresql://user:password@host:5432/name, or unset it for SQLite.",
        )
    return read.set(drivername="postgresql+psycopg")


def _line_options(url: sa.URL, name: str) -> dict[str, ConnParam]:
    """Return the limits of a connection that its URL does not set, and what the database calls it."""
    options = {key: value for key, value in _LINE.items() if key not in url.query}
    # Of all that a person can set the name alone is ours: by it others end what a dead process holds.
    return options | {"application_name": name} if name else options


def line_to(url: str, name: str = "") -> str:
    """Return what the driver takes to open a connection by itself; by a name, if it is to have one."""
    # Imported only here: SQLite needs none of it.
    from psycopg.conninfo import make_conninfo

    return make_conninfo(url.replace("postgresql+psycopg://", "postgresql://"), **_line_options(parsed(url), name))


def make_engine(url: str, pool_size: int, connections: Connections) -> sa.Engine:
    """Return an engine whose connections have all limits, and are added to `connections`."""
    where = parsed(url)
    alchemy_errors()
    engine = sa.create_engine(where, pool_size=pool_size, connect_args=_line_options(where, connections.name))
    sa_event.listen(engine, "connect", connections.add)
    # Whose connection was cut would open another one, and wait for that.
    sa_event.listen(engine, "do_connect", lambda *_how: connections.check())
    sa_event.listen(engine, "connect", _limit)
    sa_event.listen(engine, "before_cursor_execute", clean_parameters, retval=True)
    sa_event.listen(engine, "before_cursor_execute", _wait_for_each)
    sa_event.listen(engine, "checkin", _used)
    sa_event.listen(engine, "checkout", lambda connection, record, _proxy: _try(engine, connection, record))
    return engine


def _wait_for_each(connection: sa.Connection, *_what: object) -> None:
    """Have SQLAlchemy find the answer to what it executes: it looks for it at once."""
    one_by_one(connection.connection.driver_connection)


def _used(_connection: object, record: ConnectionPoolEntry) -> None:
    record.info["used"] = time.monotonic()


def _try(engine: sa.Engine, connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
    """Find out whether a connection that rested still stands; one that just worked is taken as it is."""
    if time.monotonic() - record.info.get("used", time.monotonic()) < limits.DATABASE_RESTED:
        return
    try:
        engine.dialect.do_ping(connection)
    except engine.dialect.loaded_dbapi.Error as error:
        raise sa.exc.DisconnectionError from error


def _limits() -> tuple[list[str], list[str]]:
    values = {name: _milliseconds(seconds) for name, seconds in _SESSION.items()} | _CLIENT_GONE
    return list(values), list(values.values())


async def limit(connection: AsyncConnection[Any]) -> None:
    """Give a connection that is not one of the engine's all limits, too."""
    await connection.execute(_LIMIT, _limits())


async def set_up(connection: AsyncConnection[Any], connections: Connections) -> None:
    """Add a new connection to the process's others and give it all limits; close it if that fails or is cancelled."""
    try:
        connections.add(connection)
        await limit(connection)
    except BaseException:
        await connection.close()
        raise


def _limit(connection: object, _record: object) -> None:
    connection.execute(_LIMIT, _limits())  # type: ignore[attr-defined]
    # What a transaction sets ends with it, unless it is kept.
    connection.commit()  # type: ignore[attr-defined]


def lift(connection: sa.Connection) -> None:
    """Let this transaction take as long as it needs, such as a copy of everything; each statement has its limit."""
    if (connection.dialect.server_version_info or ()) >= _LIFTED_SINCE:
        connection.execute(sa.text("SET LOCAL transaction_timeout = 0"))


def take_time(connection: sa.Connection, seconds: float, *, locks: bool = False) -> None:
    """Let the statements of this transaction take longer than those of the daily work; `locks` too."""
    for name in _SESSION if locks else ("statement_timeout", "transaction_timeout"):
        # Of those that this server has.
        connection.execute(
            sa.text("SELECT set_config(name, :value, true) FROM pg_settings WHERE name = :name"),
            {"name": name, "value": _milliseconds(seconds)},
        )


def _milliseconds(seconds: float) -> str:
    return str(int(seconds * 1000))
