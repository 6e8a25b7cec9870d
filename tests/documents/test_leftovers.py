"""What a killed process left of a file that was passing through is removed later."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

from pilothouse.documents.leftovers import sweep
from pilothouse.types import limits
from pilothouse.types.host_documents import Where
from tests.support.chats import ME, open_chat


def _left(folder: Path, name: str, age: float) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(b"half a file")
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_old_leftovers_go_and_what_is_passing_stays(tmp_path: Path) -> None:
    old = _left(tmp_path, "new-old", limits.DOCUMENT_PASSING_SECONDS + 60)
    other = _left(tmp_path, "other", limits.DOCUMENT_PASSING_SECONDS + 60)
    passing = _left(tmp_path, "new-now", 60)
    sweep(tmp_path)
    sweep(tmp_path / "none")
    assert (old.exists(), other.exists(), passing.exists()) == (False, True, True)


async def test_leftovers_go_when_a_document_is_added(home: Path) -> None:
    async def content() -> AsyncIterator[bytes]:
        yield b"Some words."

    async with open_chat(home) as chat:
        old = _left(home / "cache" / "documents", "new-old", limits.DOCUMENT_PASSING_SECONDS + 60)
        await chat.api.documents.upload(ME, content(), "x.txt", Where(scope="everywhere"))
        assert not old.exists()


async def test_leftovers_go_when_a_server_starts(home: Path) -> None:
    old = _left(home / "cache" / "documents", "new-old", limits.DOCUMENT_PASSING_SECONDS + 60)
    async with open_chat(home):
        assert not old.exists()
