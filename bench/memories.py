"""How long a search over as many memories as there may be takes: by words, and by words and meaning together.

They are generated: facts from a fixed list of words, so that some words are in every third of them, which is the worst
case. The floor is bare SQLite: the same words in the same table of words, ranked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sqlite3
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from bench.results import table, verdict
from pilothouse.meaning.service import MeaningService
from pilothouse.memory.searching import MemorySearcher
from pilothouse.memory.texts import words_of
from pilothouse.secrets.store import SecretStore
from pilothouse.store.database import Database, sqlite_url
from pilothouse.store.memories import add
from pilothouse.store.opening import open_store
from pilothouse.store.vectors import VectorStore
from pilothouse.types import limits
from pilothouse.types.embeddings import Embeddings
from pilothouse.types.ids import new_id
from pilothouse.types.meaning import WordsOnly
from pilothouse.types.memories import Memory, MemoryWords
from pilothouse.types.scopes import EVERYWHERE, Scope

TARGET = 50.0
OWNER = "bench"
TOPICS = """
harbour berth tide boat engine sail anchor price meeting team deploy staging database port server key branch release
invoice customer contract address phone birthday tea coffee bread garden gate fence roof window heating car train
"""
WORDS = TOPICS.split()
FILLING = "the of in on at by for and is was will be since until with without before after every always never"
AROUND = FILLING.split()
QUESTIONS = ("berth", "when does the team meet", "staging database port", "green tea", "b", "price of a car", "zzzz")


def memory(number: int, pick: random.Random) -> Memory:
    """Return a fact about two topics; a fifth of them are of single folders."""
    text = " ".join(pick.choice(WORDS if at % 3 == 0 else AROUND) for at in range(24))
    scope = EVERYWHERE if number % 5 else Scope(kind="folder", id=f"/srv/{number % 50}")
    title = f"{pick.choice(WORDS)} {number}"
    return Memory(key=new_id("m"), title=title, text=f"{text} {number}", scope=scope, updated_at=float(number))


def fill(folder: Path, count: int) -> None:
    """Keep so many, past the bound of one place."""
    pick = random.Random(8)
    database = Database(sqlite_url(folder))
    every = [memory(number, pick) for number in range(count)]
    before, limits.MEMORIES_IN_SCOPE = limits.MEMORIES_IN_SCOPE, count + 1
    try:
        database.write_now(lambda connection: [add(connection, OWNER, one) for one in every] and None)
    finally:
        limits.MEMORIES_IN_SCOPE = before
        database.close()


async def give_vectors(vectors: VectorStore, model: str) -> None:
    """Keep a vector for each memory: which one makes no difference to the time of a search."""
    generator, below = np.random.default_rng(1), None
    while below != 0:
        look = await vectors.lacking("memory", model, below, 0, 2_000)
        made = generator.standard_normal((len(look.texts), 384), np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        await vectors.keep("memory", model, look.texts, [each.astype("<f2").tobytes() for each in made])
        below = look.below


async def asked(searcher: MemorySearcher, question: str, times: int) -> tuple[float, int]:
    """Return the median of several tries in milliseconds, and the hits; each asks for something else."""
    scopes = (EVERYWHERE, *(Scope(kind="folder", id=f"/srv/{number}") for number in range(3)))
    taken, hits = [], 0
    for number in range(times):
        # The dots make it another question to whoever remembers the vectors of questions, and none to the words.
        words = MemoryWords(question + "." * number, scopes, most=limits.MEMORY_HITS)
        before = time.perf_counter()
        hits = len((await searcher.search(OWNER, words)).matches)
        taken.append((time.perf_counter() - before) * 1000)
    return median(taken), hits


def bare(file: sqlite3.Connection, question: str, times: int) -> float:
    """Ask the table of words alone."""
    match = " OR ".join(f'"{word}" *' for word in words_of(question))
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        file.execute(
            "SELECT rowid FROM memory_words WHERE memory_words MATCH ? ORDER BY rank LIMIT 100", (match,)
        ).fetchall()
        taken.append((time.perf_counter() - before) * 1000)
    return median(taken)


async def measured(folder: Path, count: int, times: int) -> None:
    """Search and print."""
    opened = open_store(folder, None, lambda *_: None)
    began = time.perf_counter()
    await asyncio.to_thread(fill, folder, count)
    took = time.perf_counter() - began
    file = sqlite3.connect(folder / "pilothouse.db")
    vectors = VectorStore(opened.database)
    meaning = MeaningService(vectors, Embeddings, SecretStore(folder / "secrets"), folder / "vectors")
    await give_vectors(vectors, meaning.model)
    await meaning.near("the first starts the process and makes the file", "memory", OWNER, None, 20)
    by_words, by_both = MemorySearcher(opened.store, WordsOnly()), MemorySearcher(opened.store, meaning)
    rows = [("words", "bare SQLite", "by words", "and meaning", "hits")]
    slowest = 0.0
    try:
        for question in QUESTIONS:
            floor = bare(file, question, times)
            ours, _ = await asked(by_words, question, times)
            both, hits = await asked(by_both, question, times)
            rows.append((json.dumps(question), f"{floor:.1f} ms", f"{ours:.1f} ms", f"{both:.1f} ms", f"{hits:,}"))
            slowest = max(slowest, ours, both)
    finally:
        file.close()
        await meaning.close()
        await opened.close()
    table(f"A search over {count:,} memories, made in {took:.1f} s", rows)
    verdict("the slowest search", slowest, TARGET, " ms")


def main() -> None:
    """Generate, search and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=limits.MEMORIES_OF_OWNER)
    parser.add_argument("--times", type=int, default=15)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measured(Path(folder), given.memories, given.times))


if __name__ == "__main__":
    main()
