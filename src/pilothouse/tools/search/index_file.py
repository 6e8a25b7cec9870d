"""The file of one index: what is known of each file, its words, its groups of three letters, its symbols."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from pilothouse.tools.search.symbols import Symbol
from pilothouse.tools.search.words import Passage, passages, split_identifiers

# Another number means another shape, or other files that are left out; such an index is made anew.
_VERSION = "3"
_SCHEMA = (Path(__file__).parent / "schema.sql").read_text()
# Rows of replaced files may stay behind, until they are this many and half of all.
_LEFT_BEHIND = 5_000
_READERS_WAIT = 5.0


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


class IndexFile:
    """Writes an index. One thread of one process has it."""

    def __init__(self, path: Path) -> None:
        self._path = path
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
                self._connection.execute("DELETE FROM symbols WHERE file = ?", row)
                self._connection.execute("DELETE FROM passages WHERE file = ?", row)

    def is_worn(self) -> bool:
        """Return whether so much was replaced that making it anew costs less than carrying it along."""
        files, last = self._connection.execute("SELECT count(*), coalesce(max(id), 0) FROM files").fetchone()
        return bool(last - files > max(_LEFT_BEHIND, files))

    def empty(self) -> None:
        """Begin anew with an empty file."""
        self._connection.close()
        for ending in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
        self._connection = self._open()

    def _put_passages(self, file: int, path: str, found: Iterable[Passage]) -> None:
        run = self._connection.execute
        path = f"{path} {split_identifiers(path)}"
        for each in found:
            ident = run("INSERT INTO passages (file, first, last) VALUES (?, ?, ?)", (file, each.first, each.last))
            names = " ".join(each.names)
            run(
                "INSERT INTO words (rowid, path, names, body) VALUES (?, ?, ?, ?)",
                (
                    ident.lastrowid,
                    path,
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
