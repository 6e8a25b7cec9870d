"""How many texts become vectors in a second, and the memory of the process that does it."""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from pathlib import Path

import psutil

from bench.processes import ROOT
from bench.results import table, verdict
from pilothouse.meaning import weights
from pilothouse.meaning.process import BuiltIn, Computing
from pilothouse.meaning.service import batches
from pilothouse.types import limits

SECONDS = 10.0
# A batch is this many seconds at most, so that a question waits no longer; and what the process takes of memory.
LONGEST, MEGABYTES = 1.0, 500.0
# A processor's own share for the same multiplications, bare.
_FLOOR = """
import sys, time
import numpy as np
tokens = int(sys.argv[1])
rows = np.ones((tokens, 384), np.float32)
wide = np.ones((tokens, 1536), np.float32)
square, up, down = (np.ones(shape, np.float32) for shape in ((384, 384), (384, 1536), (1536, 384)))
began, turns = time.perf_counter(), 0
while time.perf_counter() - began < 3:
    for _ in range(6):
        for _ in range(4):
            rows @ square
        rows @ up
        wide @ down
    turns += 1
print(turns / (time.perf_counter() - began))
"""


def texts() -> dict[str, list[str]]:
    """Return texts of three lengths out of our own guide."""
    words = " ".join(
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "guide").glob("*.md"))
    ).split()

    def cut(length: int) -> list[str]:
        return [" ".join(words[at : at + length]) for at in range(0, min(len(words), 256 * length), length)]

    return {"8 words": cut(8), "40 words": cut(40), "160 words": cut(160)}


async def rate(embedder: BuiltIn, given: list[str]) -> tuple[float, float]:
    """Return how many texts a second become vectors, and the seconds of the slowest batch."""
    await embedder.embed(given[:1], "passage")
    began, done, slowest = time.perf_counter(), 0, 0.0
    while time.perf_counter() - began < SECONDS:
        for batch in batches(given):
            start = time.perf_counter()
            done += len(await embedder.embed(batch, "passage"))
            slowest = max(slowest, time.perf_counter() - start)
            if time.perf_counter() - began > SECONDS:
                break
    return done / (time.perf_counter() - began), slowest


def floor(tokens: int) -> float:
    """Return how many texts a second their multiplications alone allow."""
    environment = {"OPENBLAS_NUM_THREADS": "1"}
    asked = [sys.executable, "-c", _FLOOR, str(tokens)]
    return float(subprocess.run(asked, env=environment, capture_output=True, check=True, text=True).stdout)


async def measure(folder: Path) -> None:
    computing = Computing()
    embedder = BuiltIn(computing, folder)
    began = time.perf_counter()
    await embedder.embed(["a question"], "query")
    first = time.perf_counter() - began
    began = time.perf_counter()
    for number in range(50):
        await embedder.embed([f"where is number {number} kept?"], "query")
    question = (time.perf_counter() - began) / 50
    rows, slowest = [("texts of", "a second", "multiplications alone")], 0.0
    for (name, given), tokens in zip(texts().items(), (12, 60, 240), strict=True):
        each, longest = await rate(embedder, given)
        slowest = max(slowest, longest)
        rows.append((name, f"{each:.0f}", f"{floor(tokens):.0f}"))
    [process] = [each for each in psutil.Process().children() if "pilothouse.helper.process" in each.cmdline()]
    memory = process.memory_info().rss / 1e6
    await computing.close()
    table("Texts that become vectors", rows)
    print(f"  the first question, with starting the process: {first:.2f} s; one more: {question * 1_000:.0f} ms")
    verdict("slowest batch", slowest, LONGEST, " s")
    verdict("memory of the process", memory, MEGABYTES, " MB")
    verdict("its bound", memory, limits.MEANING_MEMORY / 1e6, " MB")


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    folder = weights.folder()
    assert folder is not None, "scripts/setup meaning"
    asyncio.run(measure(folder))


if __name__ == "__main__":
    main()
