"""The connections to a SQLite file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from pilothouse.store.sqlite_file import SqliteFile


def test_a_connection_that_comes_back_after_the_end_is_closed(tmp_path: Path) -> None:
    file = SqliteFile(f"sqlite:///{tmp_path / 'a.db'}", 4)
    lent, kept = file.take(), file.take()
    file.give_back(kept)
    file.close()
    file.give_back(lent)
    for bare in (lent, kept):
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            bare.cursor().execute("SELECT 1")
