"""A search over 10,000 memories, by words and by meaning, against comparing all of them bare."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import uvloop

from bench.results import table, verdict
from pilothouse.meaning.service import MeaningService
from pilothouse.secrets.store import SecretStore
from pilothouse.store.database import Database
from pilothouse.store.opening import open_store
from pilothouse.store.statements import Statement, inserting
from pilothouse.store.vectors import VectorStore
from pilothouse.types.embeddings import Embeddings
from pilothouse.types.ranking import fused
from pilothouse.types.vectors import Lacking

OWNER = "local"
MILLISECONDS = 50.0
_WORDS = [
    "anna",
    "bob",
    "harbour",
    "invoice",
    "deployment",
    "friday",
    "peanut",
    "bicycle",
    "cellar",
    "pytest",
    "meeting",
    "budget",
    "garden",
    "server",
    "release",
    "customer",
    "berlin",
    "oslo",
    "train",
    "window",
    "password",
    "printer",
    "coffee",
    "holiday",
    "contract",
    "painting",
    "bridge",
    "river",
    "mountain",
]
_ADD = inserting(
    "memories", "key", "owner", "scope_kind", "scope", "text", "digest", "body", "created_at", "updated_at"
)
_FIND = Statement(
    "SELECT m.key FROM memory_words w JOIN memories m ON m.id = w.rowid "
    "WHERE memory_words MATCH :words AND m.owner = :owner AND m.forgotten_at IS NULL ORDER BY w.rank LIMIT 20"
)


async def remember(database: Database, count: int) -> list[str]:
    """Keep memories; return their texts."""
    generator = random.Random(1)
    texts = [" ".join(generator.choices(_WORDS, k=12)) + f" {number}" for number in range(count)]
    rows: list[dict[str, object]] = [
        {
            "key": f"m_{number}",
            "owner": OWNER,
            "scope_kind": "everywhere",
            "scope": "",
            "text": text,
            "digest": hashlib.sha256(text.encode()).hexdigest(),
            "body": b"{}",
            "created_at": time.time(),
            "updated_at": time.time(),
        }
        for number, text in enumerate(texts)
    ]
    await database.write(lambda connection: _ADD.many(connection, rows))
    return texts


async def give_vectors(vectors: VectorStore, model: str) -> None:
    """Keep a vector for each memory: which one makes no difference to the time of a search."""
    generator, below = np.random.default_rng(1), None
    while below != 0:
        look = await vectors.lacking("memory", model, below, 0, 2_000)
        made = generator.standard_normal((len(look.texts), 384), np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        texts: tuple[Lacking, ...] = look.texts
        await vectors.keep("memory", model, texts, [each.astype("<f2").tobytes() for each in made])
        below = look.below


async def timed(work: Callable[[str], Awaitable[object]], turns: int = 50) -> float:
    """Return the median milliseconds of a search, each for something else."""
    took = []
    for number in range(turns):
        began = time.perf_counter()
        await work(f"{_WORDS[number % len(_WORDS)]} number {number}")
        took.append((time.perf_counter() - began) * 1_000)
    return statistics.median(took)


async def measure(folder: Path, count: int) -> None:
    opened = open_store(folder, None, lambda _id, _events: None)
    database = opened.database
    secrets = SecretStore(folder / "secrets")
    vectors = VectorStore(database)
    service = MeaningService(vectors, Embeddings, secrets, folder / "vectors")
    await remember(database, count)
    await give_vectors(vectors, service.model)

    async def near(query: str) -> list[str]:
        return [each.key for each in await service.near(query, "memory", OWNER, None, 20)]

    async def words(query: str) -> list[str]:
        asked = {"words": " OR ".join(f'"{word}"' for word in query.split()), "owner": OWNER}
        return await database.read(lambda connection: _FIND.column(connection, asked))

    async def both(query: str) -> list[str]:
        return fused(await words(query), await near(query))

    async def embedded(query: str) -> object:
        return await service.embed([query + " bare"], "query")

    await near("the first starts the process and makes the file")
    matrix = np.ones((count, 384), np.float32)

    async def bare(_query: str) -> object:
        return np.argpartition(matrix @ matrix[0], -20)

    rows = [
        ("way", "median"),
        ("words and meaning", f"{(time_both := await timed(both)):.1f} ms"),
        ("by meaning", f"{await timed(near):.1f} ms"),
        ("by words", f"{await timed(words):.1f} ms"),
        ("the question's vector alone", f"{await timed(embedded):.1f} ms"),
        ("comparing floats in memory, bare", f"{await timed(bare):.1f} ms"),
    ]
    table(f"Searching {count:,} memories", rows)
    verdict("a search by both", time_both, MILLISECONDS, " ms")
    await service.close()
    await opened.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as r,
    ):
        r.run(measure(Path(folder), options.count))


if __name__ == "__main__":
    main()
