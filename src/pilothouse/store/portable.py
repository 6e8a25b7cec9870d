"""The one form in which data leaves a database and comes back: lines of JSON, the same for SQLite and PostgreSQL.

The first line says what it is. Then come files, and tables with a line for each row. The last line has the hash of
all lines before it. Bytes that are UTF-8 stand there as text, others as a list with their base64.
"""

from __future__ import annotations

import base64
import gzip
import io
import os
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec
import sqlalchemy as sa

from pilothouse import __version__
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode

Kind = Literal["backup", "conversations"]
FORMAT = 1
_GZIP = b"\x1f\x8b"
# Three times as fast as the usual level, and hardly larger.
_COMPRESSION = 3
_CUT = "is damaged or cut short"

# A value of a row; a list holds the base64 of bytes that are no text.
Value = str | int | float | bool | list[str] | None
Row = list[Value]


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line: what this is, and by which schema its tables are."""

    pilothouse: Kind
    schema: str
    format: int = FORMAT
    version: str = __version__
    made_at: float = msgspec.field(default_factory=time.time)


class FileLine(msgspec.Struct, frozen=True, tag_field="line", tag="file", forbid_unknown_fields=True):
    """A file of the data folder."""

    name: str
    content: str | list[str]


class TableLine(msgspec.Struct, frozen=True, tag_field="line", tag="table", forbid_unknown_fields=True):
    """The table whose rows follow."""

    name: str
    columns: list[str]


class EndLine(msgspec.Struct, frozen=True, tag_field="line", tag="end", forbid_unknown_fields=True):
    """The last line: how many rows there were, and the hash of all lines before this one."""

    rows: dict[str, int]
    sha256: str


Line = FileLine | TableLine | Row
_head = msgspec.json.Decoder(Head)
_mark = msgspec.json.Decoder(FileLine | TableLine | EndLine)
_row = msgspec.json.Decoder(Row)


def packed(value: object) -> Value:
    """Return a value of a row as it stands in a line."""
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return [base64.b64encode(raw).decode()]
    return value  # type: ignore[return-value]


def unpacked(value: Value) -> bytes:
    """Return the bytes that stand in a line as text or base64; raise ValueError for anything else."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list) and len(value) == 1:
        return base64.b64decode(value[0], validate=True)
    raise ValueError(value)


class LineWriter:
    """Writes such lines, and counts them."""

    def __init__(self, sink: BinaryIO, head: Head) -> None:
        self._sink = sink
        self._hash = sha256()
        self.rows: dict[str, int] = {}
        self._write(head)

    def file(self, name: str, content: bytes) -> None:
        self._write(FileLine(name=name, content=packed(content)))  # type: ignore[arg-type]

    def table(self, connection: sa.Connection, table: sa.Table, where: sa.ColumnElement[bool] | None = None) -> None:
        """Write a table, or those of its rows."""
        query = sa.select(table) if where is None else sa.select(table).where(where)
        self._write(TableLine(name=str(table.name), columns=[str(column.name) for column in table.columns]))
        count = 0
        # Never all of it in memory: SQLite gives its rows one by one, PostgreSQL through a cursor of its own.
        for row in connection.execute(query, execution_options={"yield_per": limits.COPIED_ROWS}):
            self._write([packed(value) for value in row])
            count += 1
        self.rows[str(table.name)] = count

    def end(self) -> None:
        """Write the last line; without it, what was written is not whole."""
        self._write(EndLine(rows=self.rows, sha256=self._hash.hexdigest()))

    def _write(self, line: object) -> None:
        raw = encode(line) + b"\n"
        self._hash.update(raw)
        self._sink.write(raw)


@contextmanager
def compressed(sink: BinaryIO) -> Iterator[BinaryIO]:
    """Give a place whose bytes go to `sink` compressed."""
    with gzip.GzipFile(fileobj=sink, mode="wb", compresslevel=_COMPRESSION, mtime=0) as packing:
        yield packing  # type: ignore[misc]


class LineReader:
    """Reads such lines from a file, compressed or not; whoever reads them to their end knows that they are whole."""

    def __init__(self, source: BinaryIO, name: str) -> None:
        self._source = source
        self._name = name
        self._hash = sha256()
        self._rows: dict[str, int] = {}
        try:
            self.head = _head.decode(self._next(nothing="is empty"))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise self.refused("is not a file that Pilothouse wrote") from None
        if self.head.format > FORMAT:
            raise PilothouseError("bad_request", f"{name} was made by a newer Pilothouse.", fix="Upgrade Pilothouse.")

    def __iter__(self) -> Iterator[Line]:
        """Yield every line but the first and the last; raise if a line is damaged or one is missing."""
        table = ""
        while True:
            so_far = self._hash.hexdigest()
            line = self._decoded(self._next())
            if isinstance(line, EndLine):
                if line.sha256 != so_far or line.rows != self._rows or self._read(1):
                    raise self.refused()
                return
            if isinstance(line, TableLine):
                table = line.name
                self._rows[table] = 0
            elif isinstance(line, list):
                if not table:
                    raise self.refused()
                self._rows[table] += 1
            yield line

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Refuse the file for what its lines turn out to say: it is whole, and yet someone else wrote it."""
        try:
            yield
        except (ValueError, OverflowError, msgspec.MsgspecError, sa.exc.IntegrityError, sa.exc.DataError):
            raise self.refused() from None

    def refused(self, why: str = "is damaged") -> PilothouseError:
        """Return the one sentence for a file that cannot be used."""
        return PilothouseError("bad_request", f"{self._name} {why}. Nothing was changed.", fix="Use another copy.")

    def _decoded(self, raw: bytes) -> Line | EndLine:
        try:
            return _row.decode(raw) if raw[:1] == b"[" else _mark.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise self.refused() from None

    def _next(self, nothing: str = _CUT) -> bytes:
        raw = self._read(limits.COPY_LINE_BYTES)
        if not raw.endswith(b"\n"):
            raise self.refused(_CUT if raw else nothing)
        self._hash.update(raw)
        return raw

    def _read(self, most: int) -> bytes:
        try:
            return self._source.readline(most)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise self.refused(_CUT) from None


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file that a person named; raise in one sentence why it cannot be read."""
    try:
        # Whoever gives us a pipe by mistake is told so instead of waiting for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        message = f"{path} cannot be read: {(error.strerror or 'it is not there').lower()}."
        raise PilothouseError("bad_request", message) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PilothouseError("bad_request", f"{path} is not a file.")
    with os.fdopen(descriptor, "rb") as file:
        yield file


@contextmanager
def reading(path: Path, name: str = "") -> Iterator[LineReader]:
    """Open a file of such lines; `name` is what it is called in sentences."""
    with opened(path) as plain:
        if plain.peek(2)[:2] == _GZIP:
            with gzip.GzipFile(fileobj=plain) as unpacking:
                yield LineReader(unpacking, name or path.name)  # type: ignore[arg-type]
        else:
            yield LineReader(plain, name or path.name)
