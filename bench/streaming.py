"""CPU per token through adapter, loop, timeline, feed and SSE, against reading the same stream raw."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.processes import OTHERS, ROOT, Server, pilothouse, readers, settled
from bench.results import table, verdict

MOST = 4.0
# Tokens a second of a fast model; the burst gathers many tokens in one read, this does not.
PACE = 100
RAW = "raw httpx2"
OURS = "Pilothouse, one reader"


def floor(how: str, url: str, model: str) -> float:
    """Return the processor time that a program of others' needs for the stream."""
    python = OTHERS if how == "sdk" else Path(sys.executable)
    said = subprocess.run(
        [python, "bench/floor.py", how, url, model], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return float(said.stdout)


def through(running: Server, model: str, count: int, listening: int) -> float:
    """Return the server's processor time for one answer, with so many readers of its events."""
    conversation = running.conversation(model)
    with readers(running, [conversation] * listening) as reading:
        before = settled(running)
        running.ask(conversation)
        for read in reading.result():
            if (read.status, read.tokens) != ("completed", count):
                raise RuntimeError(f"a reader got {read.tokens} of {count} tokens; the run is {read.status}")
        return settled(running) - before


def compare(running: Server, model: str, count: int, rounds: int) -> dict[str, float]:
    """Return the median cost of each way to take the same stream."""
    url = running.model_url
    # The first answer pays for what is loaded late.
    through(running, model, count, 1)
    ways: dict[str, Callable[[], float]] = {
        RAW: lambda: floor("raw", url, model),
        "raw httpx2 and json": lambda: floor("json", url, model),
        OURS: lambda: through(running, model, count, 1),
        "Pilothouse, ten readers": lambda: through(running, model, count, 10),
    }
    if OTHERS.exists():
        ways["the official SDK"] = lambda: floor("sdk", url, model)
    # In turns, so that whatever else the machine does meets all of them.
    found = [{name: way() for name, way in ways.items()} for _ in range(rounds)]
    return {name: statistics.median(one[name] for one in found) for name in ways}


def show(title: str, costs: dict[str, float], count: int) -> None:
    """Print the costs and their ratios."""
    rows = [(name, f"{cost / count * 1e6:.1f} µs", f"{cost / costs[RAW]:.2f}") for name, cost in costs.items()]
    table(title, [("", "CPU per token", "ratio to raw"), *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    burst, slow = options.tokens, options.tokens // 10
    with pilothouse(f"burst-{burst}", f"paced-{slow}-{PACE}") as running:
        costs = compare(running, f"burst-{burst}", burst, options.rounds)
        show(f"{burst:,} tokens in one burst", costs, burst)
        verdict("one reader to raw httpx2", costs[OURS] / costs[RAW], MOST)
        costs = compare(running, f"paced-{slow}-{PACE}", slow, 1)
        show(f"{slow:,} tokens, {PACE} a second", costs, slow)


if __name__ == "__main__":
    main()
