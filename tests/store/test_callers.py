"""Who works on a database in a thread of their own is waited for when it is closed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pilothouse.store.database import Database, sqlite_url
from pilothouse.types.errors import PilothouseError

WAYS = {"read": Database.read_now, "write": Database.write_now}


@pytest.mark.parametrize("way", WAYS)
def test_a_database_is_closed_after_the_last_who_works_on_it(
    tmp_path: Path, database_url: str | None, way: str
) -> None:
    database = Database(database_url or sqlite_url(tmp_path))
    began, go_on = threading.Event(), threading.Event()

    def ask(connection: Any) -> int:
        began.set()
        assert go_on.wait(20)
        return int(connection.execute(sa.text("SELECT 7")).scalar_one())

    with ThreadPoolExecutor(2) as threads:
        asked = threads.submit(WAYS[way], database, ask)
        assert began.wait(20)
        closed = threads.submit(database.close)
        with pytest.raises(TimeoutError):
            closed.result(0.2)
        go_on.set()
        assert asked.result(20) == 7
        closed.result(20)
    with pytest.raises(PilothouseError, match="Pilothouse is stopping"):
        WAYS[way](database, ask)
