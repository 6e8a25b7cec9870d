"""The local copy of registries: one SQLite file, which can be had again and is thrown away when it is broken.

Everything here blocks, and is asked from threads. Several processes may have the file open.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pilothouse.mcp.registry.entries import Entry, packed, unpacked
from pilothouse.mcp.registry.likeness import is_of_its_owner, looks, near, plain_words, tail, without_a_letter
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject, encode_text

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
VERSION = 1
# Shorter words are spelled like too many others.
_SPELLED = 4
_texts = msgspec.json.Decoder(tuple[str, ...])
_SCHEMA = """
CREATE TABLE registry (
    id TEXT PRIMARY KEY,
    -- Another address is another registry: its copy begins anew.
    url TEXT NOT NULL,
    -- Of the pass under way: where it stopped, what it asks for, when it began, and the registry's own time then.
    cursor TEXT NOT NULL DEFAULT '',
    since TEXT NOT NULL DEFAULT '',
    began REAL NOT NULL DEFAULT 0,
    clock REAL NOT NULL DEFAULT 0,
    -- Of the passes that came to their end: until when everything is here, and when the last one of all was.
    known_until REAL NOT NULL DEFAULT 0,
    copied_at REAL NOT NULL DEFAULT 0,
    full_at REAL NOT NULL DEFAULT 0,
    -- When it last answered anything, and until when it is left alone, with the reason.
    heard_at REAL NOT NULL DEFAULT 0,
    rest_until REAL NOT NULL DEFAULT 0,
    problem TEXT NOT NULL DEFAULT ''
);
CREATE TABLE asked (registry TEXT NOT NULL, words TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (registry, words));
CREATE TABLE server (
    id INTEGER PRIMARY KEY,
    registry TEXT NOT NULL,
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    version TEXT NOT NULL,
    verified INTEGER NOT NULL,
    uses INTEGER,
    updated_at TEXT NOT NULL,
    published_at TEXT NOT NULL,
    status TEXT NOT NULL,
    status_note TEXT NOT NULL,
    licence TEXT NOT NULL,
    runs TEXT NOT NULL,
    keys TEXT NOT NULL,
    -- How well known it is: others may be taken for it.
    known INTEGER NOT NULL,
    -- What is added to how well it fits: a candidate that many use is not left out for another word in a description.
    weight REAL NOT NULL,
    seen_at REAL NOT NULL,
    raw BLOB NOT NULL,
    details BLOB,
    details_at REAL,
    UNIQUE (registry, name)
);
-- All that sorting needs, so that no row is read for it.
CREATE INDEX server_weight ON server (id, registry, weight);
CREATE TABLE look (key TEXT NOT NULL, server INTEGER NOT NULL, PRIMARY KEY (key, server)) WITHOUT ROWID;
CREATE INDEX look_of ON look (server);
CREATE VIRTUAL TABLE words USING fts5(name, title, packages, description, prefix='2 3', tokenize="unicode61");
-- The words of names and titles by what is left of them without a letter: so a slip is found.
CREATE TABLE spelling (key TEXT NOT NULL, word TEXT NOT NULL, PRIMARY KEY (key, word)) WITHOUT ROWID;
"""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """How the copy of one registry stands; times are epoch seconds, 0 for never."""

    cursor: str = ""
    since: str = ""
    began: float = 0.0
    clock: float = 0.0
    known_until: float = 0.0
    copied_at: float = 0.0
    full_at: float = 0.0
    heard_at: float = 0.0
    rest_until: float = 0.0
    problem: str = ""
    servers: int = 0


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A server in the copy."""

    id: int
    registry: str
    entry: Entry
    known: int
    seen_at: float
    details: JsonObject | None = None
    details_at: float = 0.0


def kept(row: Sequence[Any], raw: JsonObject | None = None) -> Kept:
    """Return a server from a row that begins with its columns; what was sent is left out unless it is given."""
    server, registry, known, seen_at, name, title, description, version, verified, uses, *rest = row
    updated_at, published_at, status, status_note, licence, runs, keys = rest[:7]
    entry = Entry(
        name=name,
        title=title,
        description=description,
        version=version,
        verified=bool(verified),
        uses=uses,
        updated_at=updated_at,
        published_at=published_at,
        status=status,
        status_note=status_note,
        licence=licence,
        runs=_texts.decode(runs),
        keys=_texts.decode(keys),
        raw=raw or {},
    )
    return Kept(id=server, registry=registry, known=known, seen_at=seen_at, entry=entry)


class LocalCopy:
    """The file, opened when it is first needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._open: sqlite3.Connection | None = None
        self._closed = False

    def work(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do something with the file, in a transaction of its own; a broken file is made anew and tried once more."""
        with self._lock:
            for last in (False, True):
                try:
                    connection = self._connection()
                    with connection:
                        return work(connection)
                except sqlite3.OperationalError as error:
                    # It is busy, or the disk is full: nothing is wrong with what is in it.
                    if error.sqlite_errorcode not in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CANTOPEN) or last:
                        raise _unusable(self._path, error) from None
                    self._throw_away()
                except sqlite3.DatabaseError as error:
                    if last:
                        raise _unusable(self._path, error) from None
                    self._throw_away()
        raise AssertionError

    def close(self) -> None:
        """Close the file for good: a thread that comes late opens it no more."""
        with self._lock:
            self._closed = True
            self._let_go()

    def _let_go(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _connection(self) -> sqlite3.Connection:
        if self._closed:
            raise PilothouseError("database", "The copy of the registries is closed already.")
        if self._open is None:
            connection = sqlite3.connect(self._path, timeout=limits.REGISTRY_PATIENCE, check_same_thread=False)
            self._open = connection
            # What a power cut takes is asked for again.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, VERSION):
                self._throw_away()
                return self._connection()
            if version == 0:
                _make(connection)
        return self._open

    def _throw_away(self) -> None:
        _log.info("The copy of the registries is made anew.")
        self._let_go()
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                self._path.with_name(self._path.name + end).unlink(missing_ok=True)

    # --- registries ---------------------------------------------------------------------------------

    def state(self, registry: str, url: str) -> State:
        """Return how the copy of a registry stands; one that was made from another address is dropped first."""

        def look(connection: sqlite3.Connection) -> State:
            row = connection.execute("SELECT url FROM registry WHERE id = ?", (registry,)).fetchone()
            if row is None or row[0] != url:
                _drop(connection, registry)
                connection.execute("INSERT INTO registry (id, url) VALUES (?, ?)", (registry, url))
            return _state(connection, registry)

        return self.work(look)

    def note(self, registry: str, url: str, **changes: str | float) -> None:
        """Write down how the copy of a registry stands, unless it has moved from this address."""

        def write(connection: sqlite3.Connection) -> None:
            if not _has_moved(connection, registry, url):
                _note(connection, registry, changes)

        self.work(write)

    def drop(self, registry: str) -> None:
        """Forget a registry and everything of it."""
        self.work(lambda connection: _drop(connection, registry))

    def was_asked(self, registry: str, words: str) -> float:
        """Return when a registry itself was last asked for these words."""
        row = self.work(
            lambda connection: connection.execute(
                "SELECT at FROM asked WHERE registry = ? AND words = ?", (registry, words)
            ).fetchone()
        )
        return float(row[0]) if row else 0.0

    # --- servers ------------------------------------------------------------------------------------

    def keep(
        self,
        registry: str,
        url: str,
        entries: Iterable[Entry],
        *,
        asked: str = "",
        changes: Mapping[str, str | float] | None = None,
    ) -> int:
        """Put entries in, in place of those of the same name, with what else is to be noted; return how many.

        Entries from an address that the registry has left are dropped.
        """

        def put(connection: sqlite3.Connection) -> int:
            if _has_moved(connection, registry, url):
                return 0
            now, count = time.time(), 0
            room = limits.REGISTRY_ENTRIES - _state(connection, registry).servers
            for entry in entries:
                count += _put(connection, registry, entry, now, may_grow=room > count)
            if asked:
                connection.execute("INSERT OR REPLACE INTO asked VALUES (?, ?, ?)", (registry, asked, now))
            _note(connection, registry, {"heard_at": now, **(changes or {})})
            return count

        return self.work(put)

    def find(self, registry: str, name: str) -> Kept | None:
        """Return a server by its name as it is shown, with everything that its registry sent."""

        def look(connection: sqlite3.Connection) -> Kept | None:
            row = connection.execute(
                "SELECT id, registry, known, seen_at, name, title, description, version, verified, uses, updated_at,"
                " published_at, status, status_note, licence, runs, keys, raw, details, details_at FROM server"
                " WHERE registry = ? AND name = ?",
                (registry, name),
            ).fetchone()
            if row is None:
                return None
            raw, details, details_at = row[-3:]
            return msgspec.structs.replace(
                kept(row, unpacked(raw)),
                details=unpacked(details) if details else None,
                details_at=details_at or 0.0,
            )

        return self.work(look)

    def keep_details(self, registry: str, url: str, name: str, details: JsonObject, entry: Entry | None) -> None:
        """Keep the details of a server, and what they say about what it runs, unless the registry has moved."""

        def put(connection: sqlite3.Connection) -> None:
            if _has_moved(connection, registry, url):
                return
            where = (registry, name)
            connection.execute(
                "UPDATE server SET details = ?, details_at = ? WHERE registry = ? AND name = ?",
                (packed(details), time.time(), *where),
            )
            if entry is not None and entry.keys:
                connection.execute(
                    "UPDATE server SET runs = ?, keys = ? WHERE registry = ? AND name = ?",
                    (encode_text(entry.runs), encode_text(entry.keys), *where),
                )

        self.work(put)

    def drop_unseen(self, registry: str, url: str, before: float) -> None:
        """Drop what a look at all of a registry at this address did not find any more."""

        def drop(connection: sqlite3.Connection) -> None:
            if _has_moved(connection, registry, url):
                return
            gone = connection.execute(
                "SELECT id FROM server WHERE registry = ? AND seen_at < ?", (registry, before)
            ).fetchall()
            _drop_servers(connection, [each for (each,) in gone])

        self.work(drop)


def _make(connection: sqlite3.Connection) -> None:
    # Another process may be first; the lock is taken before anything is looked at.
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.commit()


def _state(connection: sqlite3.Connection, registry: str) -> State:
    (count,) = connection.execute("SELECT count(*) FROM server WHERE registry = ?", (registry,)).fetchone()
    return msgspec.structs.replace(_noted(connection, registry), servers=count)


def _noted(connection: sqlite3.Connection, registry: str) -> State:
    """Return what is written down about a registry; its servers are not counted, which takes long for many."""
    row = connection.execute(
        "SELECT cursor, since, began, clock, known_until, copied_at, full_at, heard_at, rest_until, problem, 0"
        " FROM registry WHERE id = ?",
        (registry,),
    ).fetchone()
    return State(**dict(zip(State.__struct_fields__, row, strict=True))) if row else State()


def _has_moved(connection: sqlite3.Connection, registry: str, url: str) -> bool:
    """Return whether a registry was removed, or given another address than this."""
    row = connection.execute("SELECT url FROM registry WHERE id = ?", (registry,)).fetchone()
    return row is None or row[0] != url


def _note(connection: sqlite3.Connection, registry: str, changes: Mapping[str, str | float]) -> None:
    now = msgspec.structs.asdict(_noted(connection, registry))
    connection.execute(
        "UPDATE registry SET cursor = :cursor, since = :since, began = :began, clock = :clock,"
        " known_until = :known_until, copied_at = :copied_at, full_at = :full_at, heard_at = :heard_at,"
        " rest_until = :rest_until, problem = :problem WHERE id = :id",
        {**now, **changes, "id": registry},
    )


def _known(entry: Entry) -> int:
    if entry.status != "active":
        return 0
    if entry.verified:
        return 3
    if (entry.uses or 0) >= limits.REGISTRY_KNOWN_USES:
        return 2
    return int(is_of_its_owner(entry.name))


_PUT = """
INSERT INTO server (registry, name, title, description, version, verified, uses, updated_at, published_at, status,
    status_note, licence, runs, keys, known, weight, seen_at, raw)
VALUES (:registry, :name, :title, :description, :version, :verified, :uses, :updated_at, :published_at, :status,
    :status_note, :licence, :runs, :keys, :known, :weight, :seen_at, :raw)
ON CONFLICT (registry, name) DO UPDATE SET title = :title, description = :description, version = :version,
    verified = :verified, uses = :uses, updated_at = :updated_at, published_at = :published_at, status = :status,
    status_note = :status_note, licence = :licence, known = :known, weight = :weight, seen_at = :seen_at, raw = :raw,
    -- What the details said stays where the list says nothing.
    runs = CASE WHEN :runs = '[]' AND details IS NOT NULL THEN runs ELSE :runs END,
    keys = CASE WHEN :keys = '[]' AND details IS NOT NULL THEN keys ELSE :keys END
RETURNING id
"""


def _put(connection: sqlite3.Connection, registry: str, entry: Entry, now: float, *, may_grow: bool) -> bool:
    """Put an entry in; return whether it is new. A full registry takes only what it has already."""
    before = connection.execute(
        "SELECT id FROM server WHERE registry = ? AND name = ?", (registry, entry.name)
    ).fetchone()
    if before is None and not may_grow:
        return False
    if before is not None:
        _drop_words(connection, before)
    known = _known(entry)
    values = msgspec.structs.asdict(entry) | {
        "registry": registry,
        "runs": encode_text(entry.runs),
        "keys": encode_text(entry.keys),
        "known": known,
        "weight": _weight(entry),
        "seen_at": now,
        "raw": packed(entry.raw),
    }
    ((server,),) = connection.execute(_PUT, values).fetchall()
    _index(connection, server, entry, known)
    return before is None


def _weight(entry: Entry) -> float:
    """Return how many places in the order of fitting a server's fame is worth."""
    digits = len(str(entry.uses)) if entry.uses else 0
    return 2.0 * entry.verified + 0.5 * digits - (10.0 if entry.status != "active" else 0.0)


def _index(connection: sqlite3.Connection, server: int, entry: Entry, known: int) -> None:
    # Almost every name begins so, and nobody means it.
    name = entry.name.removeprefix("io.github.")
    connection.execute(
        "INSERT INTO words (rowid, name, title, packages, description) VALUES (?, ?, ?, ?, ?)",
        (server, name, entry.title, entry.packages, entry.description),
    )
    spelled = set(plain_words(f"{tail(entry.name)} {entry.title}"))
    connection.executemany(
        "INSERT OR IGNORE INTO spelling VALUES (?, ?)",
        [(key, word) for word in spelled for key in (word, *without_a_letter(word)) if len(word) >= _SPELLED],
    )
    if known:
        keys = {key for look in looks(entry.name, entry.title) for key in near(look)}
        connection.executemany("INSERT INTO look VALUES (?, ?)", [(key, server) for key in keys])


def _drop(connection: sqlite3.Connection, registry: str) -> None:
    rows = connection.execute("SELECT id FROM server WHERE registry = ?", (registry,)).fetchall()
    _drop_servers(connection, [each for (each,) in rows])
    connection.execute("DELETE FROM registry WHERE id = ?", (registry,))
    connection.execute("DELETE FROM asked WHERE registry = ?", (registry,))


def _drop_servers(connection: sqlite3.Connection, servers: Sequence[int]) -> None:
    _drop_words(connection, servers)
    connection.executemany("DELETE FROM server WHERE id = ?", [(each,) for each in servers])


def _drop_words(connection: sqlite3.Connection, servers: Sequence[int]) -> None:
    one = [(each,) for each in servers]
    connection.executemany("DELETE FROM words WHERE rowid = ?", one)
    connection.executemany("DELETE FROM look WHERE server = ?", one)


def _unusable(path: Path, error: sqlite3.Error) -> PilothouseError:
    if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
        return PilothouseError("disk_full", f"The disk is full; {path} could not be written.", fix="Free some space.")
    message = f"The copy of the registries, {path}, is busy or cannot be written."
    return PilothouseError("database", message, fix="Try again in a while.")
