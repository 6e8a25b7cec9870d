"""`backup` and `restore`: the database and the settings in one file, made beside a running server.

Keys, sign-ins and consents are in no backup: they are in the keyring or in `secrets`, and stay there.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import msgspec

from pilothouse.host.address import read_address
from pilothouse.settings.home import Home, home_path, open_home
from pilothouse.store import backup, upgrade
from pilothouse.store.database import Database, sqlite_file, sqlite_url
from pilothouse.store.faults import translate
from pilothouse.store.lock import FolderLock
from pilothouse.store.opening import close_to_others
from pilothouse.store.portable import LineReader, opened, reading
from pilothouse.store.sqlite_file import copied
from pilothouse.types.durable_files import free_name, sync_names
from pilothouse.types.errors import PilothouseError
from pilothouse.wiring.whole_files import drop_partial, keep_copy, new_file, sync_file

SETTINGS = ("config.json", "models.json", "policy.json")
ENDING = ".jsonl.gz"
_SQLITE = b"SQLite format 3\0"


class BackupMade(msgspec.Struct, frozen=True, rename="camel"):
    """What a backup holds, and where it is."""

    file: str
    bytes: int
    conversations: int
    items: int
    events: int
    settings: tuple[str, ...]


class RestoreDone(msgspec.Struct, frozen=True, rename="camel"):
    """What came back, and where what stood there before is now."""

    conversations: int
    settings: tuple[str, ...]
    unsound: tuple[str, ...]
    kept_aside: str | None


def database_url() -> str | None:
    """Return the address of the shared database, None for the one in the data folder."""
    return os.environ.get("PILOTHOUSE_DATABASE_URL") or None


@contextmanager
def opened_to_read() -> Iterator[Database]:
    """Open the database beside whoever has it, to read from it."""
    url, folder = database_url(), home_path()
    if url is None and not sqlite_file(folder).exists():
        raise PilothouseError("not_found", f"There is nothing in {folder} yet.", fix="Is PILOTHOUSE_HOME right?")
    with closing(Database(url or sqlite_url(folder))) as database:
        yield database


def back_up(target: Path | None, *, replace: bool) -> BackupMade:
    """Write everything into one file; by default a new one among the data folder's backups."""
    folder = home_path()
    with opened_to_read() as database:
        if target is None or target.is_dir():
            target = _named(target or folder / "backups")
        files = _settings(database, folder)
        drop_partial(target.parent)
        try:
            with new_file(target, replace=replace) as sink:
                rows = backup.write(database, sink, files)
        except OSError as error:
            raise translate(error) from error
    return BackupMade(
        file=str(target.absolute()),
        bytes=target.stat().st_size,
        conversations=rows["conversations"],
        items=rows["items"],
        events=rows["events"],
        settings=tuple(files),
    )


def _settings(database: Database, folder: Path) -> dict[str, bytes]:
    """Return the settings files; with PostgreSQL the database has them."""
    if database.is_sqlite:
        return {name: (folder / name).read_bytes() for name in SETTINGS if (folder / name).is_file()}
    from pilothouse.store.shared_rows import PostgresSharedRows

    rows = PostgresSharedRows(database).rows(SETTINGS)
    return {name: rows[name].body.encode() for name in SETTINGS if name in rows}


def _named(folder: Path) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"pilothouse-{_now()}{ENDING}"


def _now() -> str:
    return time.strftime("%Y%m%d-%H%M%S")


def restore(source: Path, *, replace: bool) -> RestoreDone:
    """Put a backup into the data folder and the database; what stood there is kept aside."""
    home, url = open_home(), database_url()
    running = read_address(home.path)
    if running is not None:
        message = f"Pilothouse (process {running.pid}) is running on {home.path}."
        raise PilothouseError("data_locked", message, fix="Stop it, then restore.")
    lock = FolderLock(home.path)
    lock.acquire()
    try:
        with _lines(source, home.path / ".converting") as lines:
            place = _Shared(home, url) if url is not None else _Embedded(home)
            return place.restore(lines, replace=replace)
    except OSError as error:
        raise translate(error) from error
    finally:
        lock.release()


@contextmanager
def _lines(source: Path, staging: Path) -> Iterator[LineReader]:
    """Open a backup; also a database file, as it is kept before an upgrade changes it."""
    with opened(source) as file:
        is_database = file.peek(len(_SQLITE))[: len(_SQLITE)] == _SQLITE
    if not is_database:
        with reading(source) as lines:
            yield lines
        return
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(mode=0o700)
    try:
        with _named_if_damaged(source):
            copy = _converted(source, staging)
        with reading(copy) as lines:
            yield lines
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _named_if_damaged(source: Path) -> Iterator[None]:
    """Say of the file that a person gave, and not of the database in use, that it is damaged."""
    try:
        yield
    except PilothouseError as error:
        if error.code != "database_corrupt":
            raise
        message = f"{source.name} is damaged. Nothing was changed."
        raise PilothouseError("bad_request", message, fix="Use another copy.") from error


def _converted(source: Path, staging: Path) -> Path:
    """Return the backup that a database file would give, were it the one in use."""
    close_to_others(sqlite_file(staging))
    try:
        copied(source, sqlite_file(staging))
    except sqlite3.Error as error:
        raise translate(error) from error
    with closing(Database(sqlite_url(staging))) as database:
        upgrade.prepare(database, staging / "backups")
        with new_file(staging / f"copy{ENDING}", replace=True) as sink:
            backup.write(database, sink, {})
    return staging / f"copy{ENDING}"


class _Place:
    """Where a backup goes: a data folder, of which this process has the lock, and its database."""

    def __init__(self, home: Home) -> None:
        self.home = home.path
        self.backups = home.path / "backups"
        # Everything is made ready here first; what a killed command left is of no use.
        self.staging = home.path / ".restoring"

    def restore(self, lines: LineReader, *, replace: bool) -> RestoreDone:
        """Make everything ready, and only then put it in its place."""
        standing = self.standing()
        used = self.is_used()
        if (used or standing) and not replace:
            message = f"There is data in {self.home} already."
            fix = "Add --replace: what is there is kept aside. Or set PILOTHOUSE_HOME to another folder."
            raise PilothouseError("conflict", message, fix=fix)
        shutil.rmtree(self.staging, ignore_errors=True)
        self.staging.mkdir(mode=0o700)
        aside = self._make_aside() if used or standing else None
        try:
            done = self.fill(lines, aside if used else None)
            self.exchange(done.files, [name for name in standing if name in done.files], aside)
        finally:
            shutil.rmtree(self.staging, ignore_errors=True)
            if aside is not None:
                with suppress(OSError):
                    # Only where nothing was exchanged is it empty.
                    aside.rmdir()
        return RestoreDone(
            conversations=done.conversations,
            settings=tuple(done.files),
            unsound=done.unsound,
            kept_aside=str(aside) if aside is not None else None,
        )

    def is_used(self) -> bool:
        """Return whether the database holds anything."""
        raise NotImplementedError

    def fill(self, lines: LineReader, aside: Path | None) -> backup.Restored:
        """Make the database what the backup says; keep what it was in `aside`."""
        raise NotImplementedError

    def exchange_database(self, aside: Path | None) -> None:
        """Put what `fill` made in its place."""

    def standing(self) -> list[str]:
        """Return which settings there are."""
        return [name for name in SETTINGS if (self.home / name).exists()]

    def _make_aside(self) -> Path:
        self.backups.mkdir(mode=0o700, exist_ok=True)
        folder = free_name(self.backups / f"replaced-{_now()}")
        folder.mkdir(mode=0o700)
        return folder

    def exchange(self, files: Mapping[str, bytes], standing: Sequence[str], aside: Path | None) -> None:
        """Put everything in its place; keep what stood there in `aside`."""
        for name, content in files.items():
            with new_file(self.staging / name, replace=True) as sink:
                sink.write(content)
        if aside is not None:
            for name in standing:
                keep_copy(self.home / name, aside)
        # Each step from here on leaves a database that is whole, the old one or the new one.
        self.exchange_database(aside)
        for name in files:
            (self.staging / name).replace(self.home / name)
        sync_names(self.home)


class _Embedded(_Place):
    """The database in the data folder."""

    def is_used(self) -> bool:
        """Return whether there is a file; what is damaged is data too."""
        return sqlite_file(self.home).exists()

    def fill(self, lines: LineReader, aside: Path | None) -> backup.Restored:
        """Make a new file beside the old one."""
        close_to_others(sqlite_file(self.staging))
        with closing(Database(sqlite_url(self.staging))) as database:
            done = backup.read(database, lines, self.home, frozenset(SETTINGS))
        sync_file(sqlite_file(self.staging))
        return done

    def exchange_database(self, aside: Path | None) -> None:
        """Put the new file in the place of the old one, in one step."""
        old = sqlite_file(self.home)
        if aside is not None and old.exists():
            _checkpoint(old)
            for ending in ("-wal", "-shm"):
                # Only beside a damaged file is there still something in these.
                with suppress(FileNotFoundError):
                    old.with_name(old.name + ending).replace(aside / (old.name + ending))
            keep_copy(old, aside)
            sync_names(aside)
        sqlite_file(self.staging).replace(old)
        sync_names(self.home)


def _checkpoint(database: Path) -> None:
    """Bring everything that was written into the one file."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class _Shared(_Place):
    """A PostgreSQL database."""

    def __init__(self, home: Home, url: str) -> None:
        super().__init__(home)
        self._url = url

    def is_used(self) -> bool:
        """Return whether there are tables of ours; refuse while someone works with them."""
        with closing(Database(self._url)) as database:
            return backup.is_used(database)

    def fill(self, lines: LineReader, aside: Path | None) -> backup.Restored:
        """Fill the database in one transaction; what it held is a backup first."""
        with closing(Database(self._url)) as database:
            if aside is not None:
                with new_file(aside / f"pilothouse{ENDING}", replace=False) as sink:
                    backup.write(database, sink, _settings(database, self.home))
            return backup.read(database, lines, self.home, frozenset(SETTINGS), instead=True)

    def standing(self) -> list[str]:
        """Return nothing: what the database has of them is part of the copy that is made of it."""
        return []

    def exchange(self, files: Mapping[str, bytes], standing: Sequence[str], aside: Path | None) -> None:
        """Put the settings into the database; files in the folder are not read beside it."""
        from pilothouse.store.shared_rows import PostgresSharedRows

        with closing(Database(self._url)) as database:
            rows = PostgresSharedRows(database)
            for name, content in files.items():
                rows.put(name, content.decode())
