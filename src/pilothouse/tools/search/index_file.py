"""The file of one index: what is known of each file, its words, its groups of three letters, its symbols."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from pilothouse.tools.search.symbols import Symbol, language_of
from pilothouse.tools.search.words import Passage, digest_of, meant, passages, split_identifiers
from pilothouse.types import limits

# Another number means another shape, or other files that are left out; such an index is made anew.
_VERSION = "4"
_SCHEMA = (Path(__file__).parent / "schema.sql").read_text()
# Rows of replaced files may stay behind, until they are this many and half of all.
_LEFT_BEHIND = 5_000
_READERS_WAIT = 5.0
# Meanings of passages that are gone may stay: one that comes back is known. Beyond this share they go.
_MEANINGS_KEPT = limits.MEANING_PASSAGES * 3 // 2
_PROSE = (".md", ".markdown", ".rst", ".txt", ".adoc", ".org", ".tex", ".html", ".htm")
_DATA = (".lock", ".csv", ".tsv", ".json", ".jsonl", ".svg", ".map", ".min.js", ".min.css", ".sum", ".log", ".xml")
# The passages whose meanings are kept.
LIKELIEST = "SELECT id, file, first, last, digest, likely FROM passages ORDER BY likely DESC, id DESC LIMIT ?"
_UNKNOWN = f"""
SELECT files.path, p.first, p.last, p.digest FROM ({LIKELIEST}) p JOIN files ON files.id = p.file
LEFT JOIN meanings ON meanings.digest = p.digest WHERE meanings.digest IS NULL ORDER BY p.likely DESC, p.id DESC
"""  # noqa: S608 - all of it is ours
_FORGET = f"DELETE FROM meanings WHERE digest NOT IN (SELECT digest FROM ({LIKELIEST}))"  # noqa: S608

# What of a file is in the index; see the schema.
Kept = Literal["words", "apart", "nothing"]


class _State(msgspec.Struct, frozen=True):
    size: int
    changed: int
    inode: int
    digest: bytes
    settled: bool
    kept: Kept


class Known(_State, frozen=True, kw_only=True):
    """A file as it was when it was looked at last."""

    id: int


class Entry(_State, frozen=True, kw_only=True):
    """A file as it is put into the index; its content only if that is kept in words."""

    path: str
    content: bytes = b""


class Unknown(msgspec.Struct, frozen=True):
    """A passage whose meaning is not known, by where it stands."""

    path: str
    first: int
    last: int
    digest: bytes


class IndexFile:
    """Writes an index. One thread of one process has it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # How often passages came or went.
        self.changes = 0
        self._connection = self._open()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def known(self) -> dict[str, Known]:
        """Return what is known of every file."""
        rows = self._connection.execute("SELECT path, id, size, changed, inode, digest, settled, kept FROM files")
        return {
            path: Known(size, changed, inode, digest, bool(settled), kept, id=ident)
            for path, ident, size, changed, inode, digest, settled, kept in rows
        }

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write all or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def put(self, entry: Entry, symbols: Sequence[Symbol]) -> Known:
        """Put a file in, instead of what was there under its path."""
        self.drop([entry.path])
        self.changes += 1
        row = (entry.path, entry.size, entry.changed, entry.inode, entry.digest, entry.settled, entry.kept)
        run = self._connection.execute
        written = run(
            "INSERT INTO files (path, size, changed, inode, digest, settled, kept) VALUES (?, ?, ?, ?, ?, ?, ?)", row
        )
        file = written.lastrowid or 0
        if entry.kept == "words":
            text = entry.content.decode("utf-8", "replace")
            run("INSERT INTO grams (rowid, text) VALUES (?, ?)", (file, text))
            self._connection.executemany(
                "INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?)",
                [(each.name, each.kind, file, each.line, each.last, each.container) for each in symbols],
            )
            self._put_passages(file, entry.path, passages(text, symbols))
        return Known(entry.size, entry.changed, entry.inode, entry.digest, entry.settled, entry.kept, id=file)

    def touch(self, known: Known, entry: Entry) -> Known:
        """Remember new times of a file whose content is the same."""
        self._connection.execute(
            "UPDATE files SET size = ?, changed = ?, inode = ?, settled = ? WHERE id = ?",
            (entry.size, entry.changed, entry.inode, entry.settled, known.id),
        )
        return msgspec.structs.replace(
            known, size=entry.size, changed=entry.changed, inode=entry.inode, settled=entry.settled
        )

    def drop(self, paths: Iterable[str]) -> None:
        """Take files out."""
        for path in paths:
            row = self._connection.execute("DELETE FROM files WHERE path = ? RETURNING id", (path,)).fetchone()
            if row is not None:
                self.changes += 1
                self._connection.execute("DELETE FROM symbols WHERE file = ?", row)
                self._connection.execute("DELETE FROM passages WHERE file = ?", row)

    def is_worn(self) -> bool:
        """Return whether so much was replaced that making it anew costs less than carrying it along."""
        files, last = self._connection.execute("SELECT count(*), coalesce(max(id), 0) FROM files").fetchone()
        return bool(last - files > max(_LEFT_BEHIND, files))

    def empty(self) -> None:
        """Begin anew with a file that has nothing but the meanings, which are dear."""
        model = self.model
        meanings = dict(self._connection.execute("SELECT digest, vector FROM meanings"))
        self._connection.close()
        for ending in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
        self._connection = self._open()
        self.changes += 1
        with self.writing():
            self.begin_meanings(model)
            self.keep_meanings(meanings)

    @property
    def model(self) -> str:
        """Return which model the meanings are of."""
        return model_of(self._connection)

    def begin_meanings(self, model: str) -> None:
        """Keep the meanings of this model from now on, and none of another."""
        if self.model != model:
            self._connection.execute("DELETE FROM meanings")
            self._connection.execute("INSERT OR REPLACE INTO about VALUES ('model', ?)", (model,))

    def keep_meanings(self, meanings: Mapping[bytes, bytes]) -> None:
        """Keep vectors, by the digests of what they are of; of too many, those of unlikely passages go."""
        run = self._connection.execute
        self._connection.executemany("INSERT OR REPLACE INTO meanings VALUES (?, ?)", meanings.items())
        if run("SELECT count(*) FROM meanings").fetchone()[0] > _MEANINGS_KEPT:
            run(_FORGET, (limits.MEANING_PASSAGES,))

    def unknown(self) -> list[Unknown]:
        """Return the passages whose meaning is to be found out, the likeliest and newest first."""
        return [Unknown(*row) for row in self._connection.execute(_UNKNOWN, (limits.MEANING_PASSAGES,))]

    def _put_passages(self, file: int, path: str, found: Iterable[Passage]) -> None:
        run = self._connection.execute
        where = f"{path} {split_identifiers(path)}"
        likely = _likely(path)
        for each in found:
            ident = run(
                "INSERT INTO passages (file, first, last, digest, likely) VALUES (?, ?, ?, ?, ?)",
                (file, each.first, each.last, digest_of(meant(path, each.text)), likely),
            )
            names = " ".join(each.names)
            run(
                "INSERT INTO words (rowid, path, names, body) VALUES (?, ?, ?, ?)",
                (
                    ident.lastrowid,
                    where,
                    f"{names} {split_identifiers(names)}",
                    f"{each.text}\n{split_identifiers(each.text)}",
                ),
            )

    def _open(self) -> sqlite3.Connection:
        """Open the file; one that is of another shape, or broken, is thrown away: it can be made again."""
        connection = _connect(self._path)
        try:
            row = connection.execute("SELECT value FROM about WHERE key = 'version'").fetchone()
            if row == (_VERSION,):
                return connection
        except sqlite3.DatabaseError:
            pass
        connection.close()
        for ending in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
        connection = _connect(self._path)
        connection.executescript(_SCHEMA)
        connection.execute("INSERT INTO about VALUES ('version', ?)", (_VERSION,))
        return connection


def model_of(connection: sqlite3.Connection) -> str:
    """Return which model the meanings in an index are of; empty when there are none."""
    row = connection.execute("SELECT value FROM about WHERE key = 'model'").fetchone()
    return str(row[0]) if row is not None else ""


def _likely(path: str) -> int:
    name = path.lower()
    if language_of(path) or name.endswith(_PROSE):
        return 0 if name.endswith(_DATA) else 2
    return 0 if name.endswith(_DATA) else 1


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    connection = sqlite3.connect(path, isolation_level=None, timeout=_READERS_WAIT, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("PRAGMA synchronous = off")
        connection.execute("PRAGMA cache_size = -32000")
    except sqlite3.DatabaseError:
        connection.close()
        path.unlink(missing_ok=True)
        return _connect(path)
    return connection


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Read an index, beside whoever writes it."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_READERS_WAIT)) as connection:
        yield connection
