"""Many conversations streaming at once: how late tokens come, and what it takes."""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor

from bench.processes import pilothouse, readers, settled
from bench.results import Read, table, verdict

MOST_MS = 250.0
# People who send at the same moment.
ASKERS = 8


def quantile(ordered: list[int], part: float) -> float:
    """Return a quantile in milliseconds."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] / 1e6


def show(reads: list[Read], seconds: float, rows: list[tuple[str, str]]) -> None:
    """Print the delays and what else was measured."""
    delays = sorted(delay for read in reads for delay in read.delays)
    expected = "all" if all(read.status == "completed" for read in reads) else "NOT ALL"
    marks = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    table(
        f"{len(reads)} conversations at once",
        [
            ("tokens delivered", f"{sum(read.tokens for read in reads):,} ({expected})"),
            *((f"delay {name}", f"{quantile(delays, part):.0f} ms") for name, part in marks.items()),
            ("time", f"{seconds:.1f} s"),
            *rows,
        ],
    )
    verdict("p99 from the model's byte to the reader's", quantile(delays, 0.99), MOST_MS, " ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--rate", type=int, default=50, help="tokens a second of each")
    parser.add_argument("--seconds", type=int, default=30)
    options = parser.parse_args()
    count = options.rate * options.seconds
    model = f"paced-{count}-{options.rate}"
    with pilothouse(model) as running:
        conversations = [running.conversation(model) for _ in range(options.conversations)]
        with readers(running, conversations) as reading:
            idle, cpu, began = running.memory(), settled(running), time.monotonic()
            with ThreadPoolExecutor(ASKERS) as askers:
                list(askers.map(running.ask, conversations))
            asked = time.monotonic() - began
            reads = reading.result()
            seconds, cpu = time.monotonic() - began, running.cpu() - cpu
        if any(read.tokens != count for read in reads):
            raise RuntimeError(f"of {count} tokens came only {sorted({(read.tokens, read.status) for read in reads})}")
        rows = [
            ("time until all were asked", f"{asked:.1f} s"),
            ("CPU of the server", f"{cpu / seconds:.0%} of a core"),
            ("CPU per token", f"{cpu / count / len(reads) * 1e6:.0f} µs"),
            ("memory before", f"{idle:.0f} MB"),
            ("memory at its peak", f"{running.peak_memory():.0f} MB"),
        ]
        show(reads, seconds, rows)


if __name__ == "__main__":
    main()
