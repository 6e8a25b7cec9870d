"""How long a search over the copy of registries takes, with as many servers as the real ones have together.

The copy is generated: names, titles and descriptions from a fixed list of words, so that some words are in a third of
all descriptions, which is the worst case. The floor is bare SQLite: the same words in the same table of words, ranked.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.results import table, verdict
from pilothouse.mcp.registry import entries
from pilothouse.mcp.registry.local_copy import LocalCopy
from pilothouse.mcp.registry.searching import Search, search, words_of

TARGET = 50.0
BOTH = ("official", "smithery")
TOPICS = """
file search git web browser slack notion calendar mail database postgres sqlite memory image video weather maps stripe
payments github gitlab jira linear docs pdf excel sheets code run docker kubernetes aws azure cloud log metrics trace
chat voice music news stock crypto travel hotel recipe health school law science genome chess
"""
WORDS = TOPICS.split()
AROUND = "a server that gives your agent access to with tools for reading writing and listing of in your"
FILLING = AROUND.split()
QUESTIONS = ("github", "search the web", "postgres database", "read files", "agent access", "gihtub", "s", "zzzz")


def official(number: int, pick: random.Random) -> dict[str, object]:
    """Return an entry of the official registry."""
    one, other, owner = pick.choice(WORDS), pick.choice(WORDS), f"owner{number % 4_000}"
    return {
        "server": {
            "name": f"io.github.{owner}/{one}-{other}-{number}",
            "title": f"{one} {other}".title(),
            "description": " ".join(pick.choice(FILLING + WORDS) for _ in range(20)),
            "version": "1.0.0",
            "packages": [{"registryType": "npm", "identifier": f"@{owner}/{one}-{other}", "version": "1.0.0"}],
        }
    }


def smithery(number: int, pick: random.Random) -> dict[str, object]:
    """Return an entry of Smithery; one in twenty is verified."""
    one, other = pick.choice(WORDS), pick.choice(WORDS)
    return {
        "qualifiedName": f"@owner{number % 4_000}/{one}-{other}",
        "displayName": f"{one} {other}".title(),
        "description": " ".join(pick.choice(FILLING + WORDS) for _ in range(20)),
        "verified": number % 20 == 0,
        "useCount": pick.randint(0, 3_000),
    }


def made(copy: LocalCopy, count: int) -> None:
    """Fill the copy, three quarters of it from the official registry."""
    pick = random.Random(8)
    for registry in BOTH:
        copy.state(registry, "bench")
    listed = [entries.official(official(number, pick)) for number in range(count * 3 // 4)]
    copy.keep("official", "bench", [each for each in listed if each is not None])
    others = [entries.smithery(smithery(number, pick)) for number in range(count // 4)]
    copy.keep("smithery", "bench", [each for each in others if each is not None])


def milliseconds(work: Callable[[], object], times: int) -> float:
    """Return the median of several tries."""
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        work()
        taken.append((time.perf_counter() - before) * 1000)
    return median(taken)


def bare(file: sqlite3.Connection, words: tuple[str, ...]) -> object:
    """Ask the table of words alone."""
    match = " AND ".join(f'"{word}" *' for word in words)
    statement = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 50"
    return file.execute(statement, (match,)).fetchall()


def main() -> None:
    """Generate, search and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=15)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "registries.sqlite"
        copy = LocalCopy(path)
        before = time.perf_counter()
        made(copy, given.entries)
        took = time.perf_counter() - before
        file = sqlite3.connect(path)
        rows = [("words", "bare SQLite", "search", "hits")]
        slowest = 0.0
        for question in QUESTIONS:
            asked = Search(words_of(question), BOTH)
            ours = milliseconds(lambda asked=asked: search(copy, asked), given.times)  # type: ignore[misc]
            floor = milliseconds(lambda asked=asked: bare(file, asked.words), given.times)  # type: ignore[misc]
            rows.append((json.dumps(question), f"{floor:.1f} ms", f"{ours:.1f} ms", f"{search(copy, asked).total:,}"))
            slowest = max(slowest, ours)
        size = path.stat().st_size / 1e6
        table(f"A search over {given.entries:,} servers, made in {took:.1f} s, {size:.0f} MB", rows)
        verdict("the slowest search", slowest, TARGET, " ms")
        file.close()
        copy.close()


if __name__ == "__main__":
    main()
