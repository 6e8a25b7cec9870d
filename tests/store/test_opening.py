"""What opening the embedded database leaves on the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pilothouse.store.opening import open_store
from pilothouse.types.errors import PilothouseError
from tests.support.records import a_conversation


@pytest.mark.case("WEB-15")
async def test_no_file_of_the_database_is_open_to_others_whatever_the_mask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        opened = open_store(tmp_path, None, lambda _id, _events: None)
        await opened.store.add_conversation(a_conversation())
        modes = {entry.name: entry.stat().st_mode & 0o077 for entry in os.scandir(tmp_path)}
        await opened.close()
    finally:
        os.umask(before)
    assert set(modes) >= {"pilothouse.db", "pilothouse.db-wal"}
    assert not any(modes.values()), modes


async def test_a_folder_in_the_place_of_the_database_is_explained_and_gives_the_lock_back(tmp_path: Path) -> None:
    (tmp_path / "pilothouse.db").mkdir()
    for _ in range(2):
        with pytest.raises(PilothouseError) as refused:
            open_store(tmp_path, None, lambda _id, _events: None)
        assert refused.value.code == "database"


def test_a_database_that_is_not_there_is_named_by_the_port_that_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "9")
    with pytest.raises(PilothouseError, match=r"The database at 127\.0\.0\.1:9 cannot be reached"):
        open_store(tmp_path, "postgresql://someone@127.0.0.1/nothing", lambda *_: None)
