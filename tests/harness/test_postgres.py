from __future__ import annotations

import psycopg

from tests.support.postgres import Postgres


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
