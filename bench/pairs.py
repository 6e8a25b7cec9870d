"""Two checkouts against each other by processor time, in turns: `scripts/bench pairs --before FOLDER`.

FOLDER is another checkout of Pilothouse, set up by its own scripts/setup. Both talk to one model server. A pair is one
run of each, and each begins every other pair, so that whatever else the machine does meets both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.processes import ROOT, endpoint, write_models
from bench.results import table, verdict

MOST = 1.05
TOKENS = 20_000
START, STREAM = "burst-20", f"burst-{TOKENS}"
ECHO = [sys.executable, str(ROOT / "bench" / "echo_server.py")]


class Checkout:
    """One of the two, with a data folder of its own."""

    def __init__(self, root: Path, home: Path, url: str) -> None:
        self._root = root
        self._url = url
        self._environment = {**os.environ, "PILOTHOUSE_HOME": str(home)}
        write_models(home, url, [START, STREAM])

    def command(self, model: str) -> float:
        """Return the processor time of one `pilothouse run`, from its start to its end."""
        program = self._root / ".venv" / "bin" / "pilothouse"
        started = subprocess.Popen(
            [program, "run", "hi", "--model", model],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
        if started.returncode:
            raise SystemExit(f"{program} ended with {started.returncode}.")
        return used.ru_utime + used.ru_stime

    def conversations(self, model: str, count: int, at_once: int) -> float:
        """Return the processor time of conversations with tool calls."""
        order = [f"{self._url}/v1", model, str(count), str(at_once), *ECHO]
        command = [str(self._root / ".venv" / "bin" / "python"), "-m", "bench.ours", *order]
        said = subprocess.run(command, cwd=self._root, check=True, capture_output=True, text=True, timeout=600)
        return float(json.loads(said.stdout.strip().splitlines()[-1])["cpu"])


WHAT: dict[str, Callable[[Checkout], float]] = {
    "start: one answer of 20 tokens": lambda one: one.command(START),
    "round: ten conversations of 20 calls": lambda one: one.conversations("rounds-20-1", 10, 1),
    "50 conversations at once, 3 calls each": lambda one: one.conversations("rounds-3-1", 50, 50),
    f"streaming: one answer of {TOKENS:,} tokens": lambda one: one.command(STREAM),
}


def measured(both: tuple[Checkout, Checkout], pairs: int) -> dict[str, list[tuple[float, float]]]:
    """Return the seconds of both, before and now, of each pair."""
    before, now = both
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in WHAT}
    for number in range(pairs):
        for name, cost in WHAT.items():
            if number % 2:
                one = cost(before)
                found[name].append((one, cost(now)))
            else:
                one = cost(now)
                found[name].append((cost(before), one))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="the other checkout")
    parser.add_argument("--pairs", type=int, default=15)
    options = parser.parse_args()
    before: Path = options.before.resolve()
    if not (before / ".venv" / "bin" / "pilothouse").exists():
        raise SystemExit(f"{before} is not set up; run scripts/setup build runtime there.")
    # As installed packages have it, also where the environment forbids Python to write any bytecode.
    for root in (before, ROOT):
        subprocess.run([root / ".venv" / "bin" / "python", "-m", "compileall", "-q", root / "src"], check=True)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, endpoint() as url:
        both = Checkout(before, Path(folder) / "before", url), Checkout(ROOT, Path(folder) / "now", url)
        # The first time makes the database.
        measured(both, 1)
        found = measured(both, options.pairs)
    ratios = {name: statistics.median(now / was for was, now in times) for name, times in found.items()}
    rows = [
        (
            name,
            f"{statistics.median(was for was, _ in times):.3f} s",
            f"{statistics.median(now for _, now in times):.3f} s",
            f"{ratios[name]:.2f}",
        )
        for name, times in found.items()
    ]
    table(f"processor time, median of {options.pairs} pairs", [("", "before", "now", "ratio"), *rows])
    for name, ratio in ratios.items():
        verdict(name.partition(":")[0], ratio, MOST)


if __name__ == "__main__":
    main()
