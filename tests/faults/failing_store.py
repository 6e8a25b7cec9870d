"""A database whose Nth operation fails, whichever that is."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pilothouse.store import sqlite_file


class Failures:
    """Counts operations and fails some of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0
        self.failed = 0
        self._first, self._last = 0, -1
        # Whether a commit is kept and only its answer lost; nothing else fails then.
        self.answer_lost = False
        self._error: Callable[[], Exception] = lambda: sqlite3.OperationalError("disk I/O error")

    def arm(self, first: int, times: int = 1) -> None:
        """Fail the operation with this number from now on, and so many after it."""
        with self._lock:
            self.count = self.failed = 0
            self._first, self._last = first, first + times - 1

    def disarm(self) -> None:
        """Let everything pass."""
        self.arm(0, 0)

    def statement(self) -> None:
        """Count a statement, where statements fail."""
        if not self.answer_lost:
            self.operation()

    def operation(self) -> None:
        """Count one operation, and raise if it is one that fails."""
        with self._lock:
            self.count += 1
            if self._first <= self.count <= self._last:
                self.failed += 1
                raise self._error()


@contextmanager
def failing_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Failures]:
    """Make every database that is opened meanwhile fail as told."""
    failures = Failures()

    class Cursor(sqlite3.Cursor):
        def _counted(self) -> None:
            try:
                failures.statement()
            except sqlite3.Error:
                # As a real failure does it: what the cursor had before is let go of, whoever keeps the error.
                self.close()
                raise

        def execute(self, *arguments: Any) -> sqlite3.Cursor:  # type: ignore[override]
            self._counted()
            return super().execute(*arguments)

        def executemany(self, *arguments: Any) -> sqlite3.Cursor:  # type: ignore[override]
            self._counted()
            return super().executemany(*arguments)

    class Connection(sqlite3.Connection):
        def cursor(self, *arguments: Any) -> Any:
            return super().cursor(Cursor)

        def commit(self) -> None:
            if failures.answer_lost:
                super().commit()
            failures.operation()
            super().commit()

    def connect(path: Path, **options: Any) -> sqlite3.Connection:
        return original(path, **options, factory=Connection)

    original = sqlite3.connect
    ours = SimpleNamespace(connect=connect, Error=sqlite3.Error, Connection=sqlite3.Connection)
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_file, "sqlite3", ours)
        yield failures
