"""A search through a million vectors: the file that is gone through in pieces, against other ways, in one run.

How near it comes to comparing every float is measured with vectors at random and with vectors in clusters, and its
memory by the process that searches.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import psutil
from numpy.typing import NDArray

from bench.results import table, verdict
from pilothouse.meaning.computing import add, find
from pilothouse.meaning.rows import Added, Place, Row, Wanted
from pilothouse.types import limits

Floats = NDArray[np.float32]
DIMENSION = 384
# Of a row in the file: the vector, its number, whose it is and who sees it, its scale and its sum.
SIZE = DIMENSION + 32
PART = 10_000
QUERIES = 20
MILLISECONDS, MEGABYTES, MISSED = 250.0, 500.0, 0.05
OWNER = "bench"


def normed(vectors: Floats) -> Floats:
    made: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)
    return made


def at_random(count: int) -> Iterator[Floats]:
    generator = np.random.default_rng(1)
    for _ in range(0, count, PART):
        yield normed(generator.standard_normal((PART, DIMENSION), np.float32))


def in_clusters(count: int) -> Iterator[Floats]:
    """Yield vectors around centres, as texts about the same things are."""
    generator = np.random.default_rng(2)
    centres = generator.standard_normal((count // 500, DIMENSION), np.float32)
    for _ in range(0, count, PART):
        near = generator.standard_normal((PART, DIMENSION), np.float32) * np.float32(0.5)
        yield normed(centres[generator.integers(0, len(centres), PART)] + near)


def questions(make: Callable[[int], Iterator[Floats]], count: int) -> Floats:
    """Return vectors near some of those that are searched: a question is like its answer, and not the same."""
    some = next(make(count))[:: PART // QUERIES][:QUERIES]
    noise = np.random.default_rng(3).standard_normal(some.shape, np.float32) * np.float32(0.04)
    return normed(some + noise)


def fill(place: Place, make: Callable[[int], Iterator[Floats]], count: int) -> float:
    """Write a file; return the seconds that this took."""
    began, number = time.perf_counter(), 0
    for vectors in make(count):
        halves = vectors.astype("<f2")
        rows = [Row(number + at, OWNER, "everywhere", "", half.tobytes()) for at, half in enumerate(halves, 1)]
        add(Added(place, rows))
        number += len(vectors)
    return time.perf_counter() - began


def exact(make: Callable[[int], Iterator[Floats]], count: int, asked: Floats) -> list[set[int]]:
    """Return the ten nearest of each question, by comparing every float."""
    best = np.full((len(asked), 0), 0, np.float32)
    ids = np.full((len(asked), 0), 0, np.int64)
    for part, vectors in enumerate(make(count)):
        scores = asked @ vectors.T
        numbers = np.broadcast_to(np.arange(part * PART + 1, part * PART + len(vectors) + 1), scores.shape)
        best, ids = np.concatenate([best, scores], axis=1), np.concatenate([ids, numbers], axis=1)
        top = np.argsort(-best, axis=1)[:, :10]
        best, ids = np.take_along_axis(best, top, 1), np.take_along_axis(ids, top, 1)
    return [set(map(int, each)) for each in ids]


class Searched(msgspec.Struct, array_like=True):
    """What a process found, the seconds of each search by the clock and by the processor, and its most megabytes."""

    found: list[list[int]]
    seconds: list[float]
    computed: list[float]
    memory: float


def searched(place: Place, asked: Floats) -> Searched:
    """Search in a process of its own."""
    given = msgspec.msgpack.encode((place, [each.astype("<f2").tobytes() for each in asked]))
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "bench.vectors", "--search"],
        input=given,
        stdout=subprocess.PIPE,
        env=environment,
        check=True,
    )
    return msgspec.msgpack.decode(done.stdout, type=Searched)


def search() -> None:
    """Answer what `searched` asks."""
    place, asked = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=tuple[Place, list[bytes]])
    made = Searched([], [], [], 0.0)
    for query in asked:
        began, computing = time.perf_counter(), time.process_time()
        rows = find(Wanted(place, query, OWNER, None, 10 + limits.VECTOR_MORE)).rows
        made.seconds.append(time.perf_counter() - began)
        made.computed.append(time.process_time() - computing)
        made.found.append([number for number, _ in rows])
        made.memory = max(made.memory, psutil.Process().memory_info().rss / 1e6)
    sys.stdout.buffer.write(msgspec.msgpack.encode(made))


# --- other ways ---------------------------------------------------------------------------------------


def read_only(path: Path) -> None:
    """Read the file and do nothing with it: no search through it can take less."""
    buffer = bytearray(limits.VECTOR_BLOCK_ROWS * SIZE)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


class Bits:
    """One bit of each number first, and the best of those by their bytes."""

    def __init__(self, path: Path, count: int) -> None:
        self._rows = np.memmap(path, np.int8, "r", offset=64, shape=(count, SIZE))
        self._bits = np.concatenate(
            [
                np.packbits(self._rows[at : at + PART, :DIMENSION] > 0, axis=1).view(np.uint64)
                for at in range(0, count, PART)
            ]
        )

    def nearest(self, query: Floats, candidates: int) -> list[int]:
        mine = np.packbits(query > 0).view(np.uint64)
        away = np.empty(len(self._bits), np.int32)
        for at in range(0, len(self._bits), PART):
            np.bitwise_count(self._bits[at : at + PART] ^ mine).sum(axis=1, dtype=np.int32, out=away[at : at + PART])
        best = np.argpartition(away, candidates)[:candidates]
        rows = self._rows[best]
        scale = np.ascontiguousarray(rows[:, SIZE - 8 : SIZE - 4]).view("<f4")[:, 0]
        scores = (rows[:, :DIMENSION].astype(np.float32) @ query) * scale
        return [int(each) + 1 for each in best[np.argsort(-scores)[:10]]]


def timed(work: Callable[[], object], turns: int = 5) -> float:
    """Return the median milliseconds of a piece of work."""
    took = []
    for _ in range(turns):
        began = time.perf_counter()
        work()
        took.append((time.perf_counter() - began) * 1_000)
    return statistics.median(took)


def hits(found: list[list[int]], right: list[set[int]]) -> float:
    return sum(len(set(mine[: 10 + limits.VECTOR_MORE]) & best) for mine, best in zip(found, right, strict=True)) / (
        10 * len(right)
    )


def measure(name: str, make: Callable[[int], Iterator[Floats]], count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        place = Place(str(Path(folder) / "bench.vectors"), "bench", DIMENSION)
        took = fill(place, make, count)
        asked = questions(make, count)
        right = exact(make, count, asked)
        ours = searched(place, asked)
        found, milliseconds = ours.found, statistics.median(ours.seconds) * 1_000
        floor = timed(lambda: read_only(Path(place.path)))
        bits = Bits(Path(place.path), count)
        rows = [
            ("way", "median", "recall@10"),
            ("bytes as floats, in pieces (ours)", f"{milliseconds:.0f} ms", f"{hits(found, right):.3f}"),
            ("the same, time of the processor", f"{statistics.median(ours.computed) * 1_000:.0f} ms", ""),
            ("reading the file alone", f"{floor:.0f} ms", ""),
        ]
        for most in (2_000, 20_000):
            by_bits = [bits.nearest(query, most) for query in asked]
            took_bits = timed(partial(bits.nearest, asked[0], most))
            rows.append(
                (f"a bit each, the best {most:,} by bytes", f"{took_bits:.0f} ms", f"{hits(by_bits, right):.3f}")
            )
        table(f"{count:,} vectors {name}, written in {took:.0f} s", rows)
        verdict("a search", milliseconds, MILLISECONDS, " ms")
        verdict("slowest search", max(ours.seconds) * 1_000, MILLISECONDS, " ms")
        verdict("memory of the process", ours.memory, MEGABYTES, " MB")
        verdict("of the ten nearest, missed", 1 - hits(found, right), MISSED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--search", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.search:
        search()
        return
    measure("at random", at_random, options.count)
    measure("in clusters", in_clusters, options.count)


if __name__ == "__main__":
    main()
