"""Ten conversations that grow for a quarter of an hour: what memory the server has at each minute."""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2

from bench.processes import BEARER, Server, endpoint, server, write_models
from bench.results import table, verdict

# What the server may grow by after the first fifth of the time, when caches are full and all code was met.
MOST_MB = 40.0
WORDS, RATE = 300, 300
# As a model has that says nothing about it: older turns are summed up now and then. In a larger one each request is
# longer than the one before, and so is what a run holds while it is at work.
WINDOW = 32_000
LOOK = 0.2


def talk(running: Server, conversation: str, until: float, pause: float) -> int:
    """Send one message after the other, each after the answer to the one before; return how many."""
    turns = 0
    with httpx2.Client(base_url=running.url, headers=BEARER, trust_env=False, timeout=60) as http:
        while time.monotonic() < until:
            body = {"text": f"Message {turns}. " + "Say more about it. " * 10}
            sent = http.post(f"/api/conversations/{conversation}/messages", json=body)
            sent.raise_for_status()
            where = f"/api/runs/{sent.json()['runId']}"
            while (status := http.get(where).json()["status"]) in ("queued", "running"):
                time.sleep(LOOK)
            if status != "completed":
                raise RuntimeError(f"turn {turns} of {conversation} is {status}")
            turns += 1
            if turns % 10 == 0:
                # As a page that is opened now and then.
                http.get(f"/api/conversations/{conversation}").raise_for_status()
            time.sleep(pause)
    return turns


def watch(running: Server, minutes: float, every: float, done: threading.Event) -> list[float]:
    """Print the memory at once and then at each step; return all of it."""
    began, seen = time.monotonic(), [running.memory()]
    print(f"  {0:5.1f} min {seen[0]:7.1f} MB", flush=True)
    for step in range(1, round(minutes * 60 / every) + 1):
        done.wait(max(0.0, began + step * every - time.monotonic()))
        seen.append(running.memory())
        print(f"  {step * every / 60:5.1f} min {seen[-1]:7.1f} MB", flush=True)
        if done.is_set():
            break
    return seen


def soak(running: Server, model: str, options: argparse.Namespace) -> None:
    """Let conversations grow, and print what memory that takes."""
    conversations = [running.conversation(model) for _ in range(options.conversations)]
    until = time.monotonic() + options.minutes * 60
    broken = threading.Event()
    with ThreadPoolExecutor(options.conversations) as people:
        talks = [people.submit(talk, running, one, until, options.pause) for one in conversations]
        for one in talks:
            one.add_done_callback(lambda ended: broken.set() if ended.exception() else None)
        seen = watch(running, options.minutes, options.every, broken)
        turns = sum(one.result() for one in talks)
    settled_at = len(seen) // 5
    table(
        f"{options.conversations} conversations for {options.minutes:g} minutes",
        [
            ("turns", f"{turns:,}"),
            ("memory at the start", f"{seen[0]:.0f} MB"),
            ("memory after a fifth", f"{seen[settled_at]:.0f} MB"),
            ("memory at the end", f"{seen[-1]:.0f} MB"),
            ("memory at its peak", f"{running.peak_memory():.0f} MB"),
            ("CPU of the server", f"{running.cpu() / options.minutes / 60:.0%} of a core"),
        ],
    )
    verdict("grown after the first fifth", seen[-1] - seen[settled_at], MOST_MB, " MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two looks at the memory")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between an answer and the next message")
    parser.add_argument("--window", type=int, default=WINDOW, help="tokens that the model takes")
    options = parser.parse_args()
    model = f"text-{WORDS}-{RATE}"
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, endpoint() as url:
        home = Path(folder) / "home"
        write_models(home, url, [model])
        kept = json.loads((home / "models.json").read_text())
        kept["models"][model]["contextWindow"] = options.window
        (home / "models.json").write_text(json.dumps(kept))
        with server(home, url) as running:
            soak(running, model, options)


if __name__ == "__main__":
    main()
