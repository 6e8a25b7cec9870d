"""What processes on one PostgreSQL share: the master key, and the settings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from pilothouse.secrets.master_key import FILE_VARIABLE
from pilothouse.secrets.redaction import Redactor
from pilothouse.secrets.store import SecretStore
from pilothouse.settings.home import open_home
from pilothouse.store import upgrade
from pilothouse.store.database import Database
from pilothouse.wiring.shared_settings import Shared, open_shared

KEY = "a master key that stands in no database"


def set_master_key(monkeypatch: pytest.MonkeyPatch, folder: Path, key: str = KEY) -> Path:
    """Give every host that is opened from now on the same master key."""
    file = folder / "the-master-key"
    file.write_text(key)
    monkeypatch.setenv(FILE_VARIABLE, str(file))
    return file


def stop_settings_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no process notice by itself that settings changed: only who looks knows."""

    async def never(_self: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("pilothouse.store.shared_watch.SharedWatch._follow", never)


@contextmanager
def open_shared_settings(url: str, folder: Path) -> Iterator[Shared]:
    """What a process of a data folder shares on a database, without the rest of a host."""
    folder.mkdir(parents=True, exist_ok=True)
    with closing(Database(url)) as database:
        upgrade.prepare(database, folder / "backups")
        home = open_home(folder)
        yield open_shared(home, database, SecretStore(home.secrets, find=lambda: None), Redactor())
