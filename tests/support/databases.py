"""A transaction on a database that a host has open, and a limit on the pages of a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager

import pytest
import sqlalchemy as sa

from pilothouse.store.database import Database, alchemy
from pilothouse.store.sqlite_file import Bare
from tests.support import sampling

# For what is done above the store, whose own tests see every statement on both.
SQLITE_AND_POSTGRESQL = sampling.first_and_some(("sqlite", "postgresql"))


@contextmanager
def open_transaction(url: str) -> Iterator[sa.Connection]:
    """Open a database for one transaction."""
    with closing(Database(url)) as database, database.writing() as connection:
        yield alchemy(connection)


class PageLimit:
    """A limit on the pages of databases, which SQLite itself keeps to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free()
        begin = Bare.transaction

        def limited(bare: Bare, *, writes: bool) -> AbstractContextManager[None]:
            bare.cursor().execute(f"PRAGMA max_page_count={self._limit}")
            return begin(bare, writes=writes)

        monkeypatch.setattr(Bare, "transaction", limited)

    def fill(self) -> None:
        """Allow no more pages than there are."""
        self._limit = 1

    def free(self) -> None:
        """Allow as many as there may be."""
        self._limit = 4_294_967_294
