"""Conversations with tool calls: Pilothouse, its log on disk, against a minimal loop on the official SDKs and others.

The model server, the echo server and the number of conversations are the same for all; each runs in a process and an
environment of its own, in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import httpx2

from bench.processes import OTHERS, ROOT, endpoint
from bench.results import table, verdict

ECHO = [sys.executable, str(ROOT / "bench" / "echo_server.py")]
FLOOR = "a minimal loop on the openai and mcp SDKs"
OURS = "Pilothouse"


class Contender(NamedTuple):
    """A program that holds the conversations."""

    name: str
    python: Path
    program: str

    def run(self, url: str, model: str, conversations: int, at_once: int) -> dict[str, float]:
        """Return what the conversations took."""
        order = [f"{url}/v1", model, str(conversations), str(at_once), *ECHO]
        module = ["-m", "bench.ours"] if self.name == OURS else [f"bench/others/{self.program}"]
        command = [str(self.python), *module, *order]
        took_turns(url)
        done = subprocess.run(
            command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=600, check=False
        )
        if done.returncode:
            raise SystemExit(f"{self.name} failed:\n{done.stderr[-2000:]}")
        told = json.loads(done.stdout.strip().splitlines()[-1])
        times = sorted(told["times"])
        return {
            "median": statistics.median(times),
            "p99": times[min(len(times) - 1, int(len(times) * 0.99))],
            "wall": told["wall"],
            "cpu": told["cpu"],
            "peak": told["peak_mb"],
            "turn": statistics.median(took_turns(url)[-conversations:]),
        }


def took_turns(url: str) -> list[float]:
    """Return how long each turn took since the last time, as the model server saw it."""
    return [float(seconds) for seconds in httpx2.get(f"{url}/turns", trust_env=False).json()]


def contenders(*, all_of_them: bool) -> list[Contender]:
    """Return who takes part."""
    first = [Contender(OURS, Path(sys.executable), ""), Contender(FLOOR, OTHERS, "sdk.py")]
    if not all_of_them:
        return first
    folder = ROOT / ".cache" / "bench-others"
    names = {"pydantic-ai": "pydantic_ai", "openai-agents": "openai_agents", "langgraph": "langgraph"}
    names["fast-agent"] = "fast_agent"
    more = [Contender(name, folder / key / "bin" / "python", f"{key}_agent.py") for name, key in names.items()]
    return [*first, *(one for one in more if one.python.exists())]


def middle(results: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of each number over the turns."""
    return {key: statistics.median(result[key] for result in results) for key in results[0]}


def measure(who: list[Contender], url: str, model: str, numbers: tuple[int, int, int]) -> dict[str, dict[str, float]]:
    """Let each hold the conversations, in turns, and return their numbers."""
    turns, conversations, at_once = numbers
    found: dict[str, list[dict[str, float]]] = {one.name: [] for one in who}
    for _ in range(turns):
        for one in who:
            found[one.name].append(one.run(url, model, conversations, at_once))
    return {name: middle(results) for name, results in found.items()}


def show(title: str, found: dict[str, dict[str, float]], rounds: int) -> None:
    """Print who took how long for a round."""
    floor = found[FLOOR]
    rows = [
        (
            name,
            f"{one['median'] / rounds * 1000:.2f} ms",
            f"{one['median'] / floor['median']:.2f}",
            f"cpu {one['cpu'] / floor['cpu']:.2f}",
            f"{one['peak']:.0f} MB",
        )
        for name, one in found.items()
    ]
    table(title, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only-floor", action="store_true", help="leave the other agents out")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    if not OTHERS.exists():
        raise SystemExit("The official SDKs are not installed; scripts/bench does that.")
    few = contenders(all_of_them=False)
    with endpoint() as url:
        everyone = contenders(all_of_them=not options.only_floor)
        one = measure(everyone, url, f"rounds-{options.rounds}-1", (options.turns, 10, 1))
        show(f"one call a round, {options.rounds} rounds: a round", one, options.rounds)
        side = measure(few, url, "rounds-1-16", (options.turns, 20, 1))
        show("16 calls side by side: the whole conversation", side, 1)
        table(
            "16 calls side by side: from the model's answer to the request with the results",
            [
                (name, f"{one['turn'] * 1000:.2f} ms", f"{one['turn'] / side[FLOOR]['turn']:.2f}")
                for name, one in side.items()
            ],
        )
        many = measure(few, url, "rounds-3-1", (options.turns, 50, 50))
        show("50 conversations at once, 3 rounds each: median of a conversation", many, 1)
        ours, floor = many[OURS], many[FLOOR]
        table(
            "50 conversations at once",
            [
                (name, f"{150 / one['wall']:.0f} calls/s", f"p99 {one['p99']:.2f} s", f"{one['cpu']:.2f} s of CPU")
                for name, one in many.items()
            ],
        )
    verdict("a round to the SDKs'", one[OURS]["median"] / one[FLOOR]["median"], 1.0)
    verdict("16 calls side by side to the SDKs'", side[OURS]["turn"] / side[FLOOR]["turn"], 1.3)
    verdict("CPU of 50 conversations to the SDKs'", ours["cpu"] / floor["cpu"], 0.8)


if __name__ == "__main__":
    main()
