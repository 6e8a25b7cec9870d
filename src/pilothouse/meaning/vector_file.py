"""Vectors in a file, a byte for each number: a copy of what the table has, made to be gone through fast.

It is read in pieces through one buffer, so that a million vectors take no more memory than a thousand. Its rows are in
the order of their numbers in the table. A file that is damaged, or of another model, is begun anew. Runs in the helper
process only; each use opens the file and locks it, since other processes may have the same folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pilothouse.meaning.rows import Place, Row, Standing, Wanted
from pilothouse.types import limits

_MAGIC = b"PHvec01\n"
# The kind of file, the model by a hash, how many numbers a vector has, and how many rows are of texts that are gone.
_HEAD = struct.Struct("<8s16sII")
_HEAD_BYTES = 64
_FULL = 127


class Damaged(Exception):
    """What the file has cannot be what was written into it."""


def owner_mark(owner: str) -> int:
    """Return what stands for an owner in the file; never 0, which stands for nobody."""
    return _mark(owner)


def scope_mark(kind: str, scope: str) -> int:
    """Return what stands for a scope in the file."""
    return _mark(f"{kind}\0{scope}")


def _mark(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") | 1


class VectorFile:
    """The file, open and locked; made by `opened`."""

    def __init__(self, descriptor: int, dimension: int, dead: int) -> None:
        self._descriptor = descriptor
        self._dimension = dimension
        self.dead = dead
        self._record = np.dtype(
            [
                ("vector", "i1", (dimension,)),
                ("id", "<i8"),
                ("owner", "<u8"),
                ("scope", "<u8"),
                # A number of the vector is its byte times this; the sum of the bytes tells whether they are whole.
                ("scale", "<f4"),
                ("sum", "<i4"),
            ]
        )
        self._size = self._record.itemsize
        # A row whose end never reached the disk does not count.
        self.rows = (os.fstat(descriptor).st_size - _HEAD_BYTES) // self._size

    @property
    def last(self) -> int:
        """Return the number of the last row, 0 if there is none."""
        return int(self._read(self.rows - 1, 1)["id"][0]) if self.rows else 0

    @property
    def standing(self) -> Standing:
        """Return how far it goes."""
        return Standing(self.last, self.rows - self.dead)

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows that come after all that are there; others are passed over."""
        last = self.last
        new = [row for row in rows if row.id > last and len(row.vector) == 2 * self._dimension]
        if not new:
            return
        record = np.zeros(len(new), self._record)
        floats = np.frombuffer(b"".join(row.vector for row in new), "<f2").reshape(len(new), -1).astype(np.float32)
        scale = np.abs(floats).max(axis=1) / _FULL
        scale[scale == 0] = 1
        record["vector"] = np.rint(floats / scale[:, None])
        record["sum"] = record["vector"].sum(axis=1, dtype=np.int32)
        record["scale"] = scale
        record["id"] = [row.id for row in new]
        record["owner"] = [owner_mark(row.owner) for row in new]
        record["scope"] = [scope_mark(row.scope_kind, row.scope) for row in new]
        self._write(self.rows, record)
        self.rows += len(new)

    def nearest(self, wanted: Wanted) -> list[tuple[int, float]]:
        """Return the numbers of the nearest rows and how alike they are, nearest first; raise Damaged."""
        query = np.frombuffer(wanted.query, "<f2").astype(np.float32)
        scores = np.full(self.rows, -2.0, np.float32)
        scopes = None if wanted.scopes is None else np.array([scope_mark(*each) for each in wanted.scopes], np.uint64)
        owner, before = np.uint64(owner_mark(wanted.owner)), 0
        floats = np.empty((limits.VECTOR_BLOCK_ROWS, self._dimension), np.float32)
        for begin, block in self._blocks():
            ids = block["id"]
            if int(ids[0]) <= before or (np.diff(ids) <= 0).any():
                raise Damaged
            before = int(ids[-1])
            seen = block["owner"] == owner
            if scopes is not None:
                seen &= np.isin(block["scope"], scopes)
            chosen = np.flatnonzero(seen)
            if len(chosen) == len(block):
                np.copyto(floats[: len(block)], block["vector"])
                scores[begin : begin + len(block)] = (floats[: len(block)] @ query) * block["scale"]
            elif len(chosen):
                scores[begin + chosen] = (block["vector"][chosen].astype(np.float32) @ query) * block["scale"][chosen]
        return self._best(scores, wanted.most)

    def _best(self, scores: NDArray[np.float32], most: int) -> list[tuple[int, float]]:
        most = min(most, len(scores))
        best = np.argpartition(scores, len(scores) - most)[len(scores) - most :] if most else np.arange(0)
        found = []
        for place in best[np.argsort(-scores[best], kind="stable")]:
            if scores[place] < -1.5:
                break
            row = self._read(int(place), 1)
            if int(row["vector"].sum(dtype=np.int32)) != int(row["sum"][0]):
                raise Damaged
            found.append((int(row["id"][0]), float(scores[place])))
        return found

    def drop(self, ids: Sequence[int]) -> None:
        """Give rows to nobody."""
        for number in sorted(set(ids)):
            place = self._place(number)
            row = self._read(place, 1) if place < self.rows else None
            if row is not None and int(row["id"][0]) == number and int(row["owner"][0]):
                row["owner"] = 0
                self._write(place, row)
                self.dead += 1

    def live(self) -> Iterator[NDArray[Any]]:
        """Yield the rows that belong to somebody."""
        for _begin, block in self._blocks():
            yield block[block["owner"] != 0]

    def _place(self, number: int) -> int:
        """Return where a row stands, or would stand."""
        low, high = 0, self.rows
        while low < high:
            middle = (low + high) // 2
            if int(self._read(middle, 1)["id"][0]) < number:
                low = middle + 1
            else:
                high = middle
        return low

    def _blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield all rows in pieces, each where the one before was."""
        buffer = bytearray(limits.VECTOR_BLOCK_ROWS * self._size)
        rows = np.frombuffer(buffer, self._record)
        for begin in range(0, self.rows, limits.VECTOR_BLOCK_ROWS):
            count = min(limits.VECTOR_BLOCK_ROWS, self.rows - begin)
            part = memoryview(buffer)[: count * self._size]
            if os.preadv(self._descriptor, [part], _HEAD_BYTES + begin * self._size) != len(part):
                raise Damaged
            yield begin, rows[:count]

    def _read(self, place: int, count: int) -> NDArray[Any]:
        data = os.pread(self._descriptor, count * self._size, _HEAD_BYTES + place * self._size)
        if len(data) != count * self._size:
            raise Damaged
        return np.frombuffer(bytearray(data), self._record)

    def _write(self, place: int, rows: NDArray[Any]) -> None:
        _write_all(self._descriptor, rows.tobytes(), _HEAD_BYTES + place * self._size)

    def append_raw(self, rows: NDArray[Any]) -> None:
        """Add rows of another file of the same kind."""
        self._write(self.rows, rows)
        self.rows += len(rows)


@contextmanager
def opened(place: Place, *, anew: bool = False) -> Iterator[VectorFile]:
    """Open the file of a model and lock it; one that is missing, of another model, or to be made anew begins empty."""
    path = Path(place.path)
    descriptor = _locked(path)
    try:
        head = os.pread(descriptor, _HEAD.size, 0)
        expected = (_MAGIC, _model_mark(place.model), place.dimension)
        dead = 0
        if anew or len(head) < _HEAD.size or _HEAD.unpack(head)[:3] != expected:
            os.ftruncate(descriptor, 0)
            _write_all(descriptor, _HEAD.pack(*expected, 0).ljust(_HEAD_BYTES, b"\0"), 0)
        else:
            dead = _HEAD.unpack(head)[3]
        file = VectorFile(descriptor, place.dimension, dead)
        yield file
        if file.dead != dead:
            _write_all(descriptor, _HEAD.pack(*expected, file.dead), 0)
            if file.dead > limits.VECTOR_DEAD_SHARE * file.rows:
                _shrink(place, file)
    finally:
        os.close(descriptor)


def _shrink(place: Place, file: VectorFile) -> None:
    """Write the file anew without the rows of nobody; whoever waits for the old one notices that it was replaced."""
    partial = f"{place.path}.partial"
    Path(partial).unlink(missing_ok=True)
    with opened(Place(path=partial, model=place.model, dimension=place.dimension)) as smaller:
        for rows in file.live():
            smaller.append_raw(rows)
    Path(partial).replace(place.path)


def _locked(path: Path) -> int:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        mine = os.fstat(descriptor)
        try:
            there = path.stat()
        except FileNotFoundError:
            there = None
        if there is not None and (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino):
            return descriptor
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(descriptor, view, at)
        view, at = view[done:], at + done


def _model_mark(model: str) -> bytes:
    return hashlib.blake2b(model.encode(), digest_size=16).digest()
