from __future__ import annotations

import psycopg
import pytest

from tests.support.postgres import Postgres
from tests.support.prepared_databases import PreparedDatabases


def test_every_test_gets_an_empty_database_of_its_own(postgres: Postgres) -> None:
    with postgres.database() as first, postgres.database() as second:
        assert first != second
        with psycopg.connect(first, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept (n integer)")
        with psycopg.connect(second) as connection:
            row = connection.execute("SELECT count(*) FROM pg_tables WHERE tablename = 'kept'").fetchone()
            assert row == (0,)


def test_a_database_is_gone_after_its_test_even_when_someone_is_still_connected(postgres: Postgres) -> None:
    with postgres.database() as url:
        held = psycopg.connect(url)
    try:
        name = url.rsplit("/", 1)[1]
        with psycopg.connect(postgres.url("postgres")) as connection:
            row = connection.execute("SELECT count(*) FROM pg_database WHERE datname = %s", (name,)).fetchone()
            assert row == (0,)
    finally:
        held.close()


def test_what_was_committed_survives_an_interrupted_server(postgres: Postgres) -> None:
    with postgres.database() as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 1 AS n")
            connection.execute("CHECKPOINT")
        postgres.interrupt()
        postgres.resume()
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT n FROM kept").fetchone() == (1,)


def _oid(url: str) -> int:
    """Return what tells a database from another one, whatever it is called."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()
    assert row is not None
    return int(row[0])


def _number(url: str) -> int:
    """Write a row and return the number that the database gave it."""
    with psycopg.connect(url) as connection:
        statement = "INSERT INTO search_texts (conversation_id, at, body) VALUES ('c_1', 0, 'kept') RETURNING id"
        row = connection.execute(statement).fetchone()
    assert row is not None
    return int(row[0])


def test_a_database_is_emptied_for_the_next_test_and_whoever_held_it_is_shut_out(postgres: Postgres) -> None:
    databases = PreparedDatabases(postgres)
    with databases.one() as first:
        made = _oid(first)
        held = psycopg.connect(first)
        number = _number(first)
    try:
        with databases.one() as second:
            assert _oid(second) == made
            assert _number(second) == number
            with pytest.raises(psycopg.OperationalError):
                held.execute("SELECT 1")
            with pytest.raises(psycopg.OperationalError, match="does not exist"):
                psycopg.connect(first)
    finally:
        held.close()


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE more (n integer)",
        "ALTER TABLE runs ADD COLUMN more integer",
        "DROP TABLE search_texts",
        "CREATE INDEX more ON search_texts (id)",
        "UPDATE alembic_version SET version_num = 'more'",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = on', current_database()); END $$",
    ],
)
def test_a_database_of_which_more_than_rows_was_changed_is_no_other_test_s(postgres: Postgres, change: str) -> None:
    databases = PreparedDatabases(postgres)
    with databases.one() as first:
        made = _oid(first)
        with psycopg.connect(first, autocommit=True) as connection:
            connection.execute(change.encode())
    with databases.one() as second:
        assert _oid(second) != made
