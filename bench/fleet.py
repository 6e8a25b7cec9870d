"""Several workers on one PostgreSQL, and a model that answers as fast as a person reads.

Workers wait more than they compute, so that two cores can show whether they are in each other's way. First how late the
model's words are at the readers of a page's process, and what a run takes of the processor, with 1, 2 and 4 workers of
50 slots; 1 is the floor of the others. Then 500 readers, round trips to the database, a message that comes when 1,000
tasks wait, and the runs of a process that stands still.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2

from bench.many import quantile
from bench.processes import PILOTHOUSE, TOKEN, Server, endpoint, process, readers, settled
from bench.results import Read, table, verdict
from bench.round_trips import postgres
from pilothouse.secrets.master_key import FILE_VARIABLE
from tests.faults.fleet import Kept
from tests.faults.slow_line import SlowLine, open_slow_line
from tests.support.ports import free_port
from tests.support.postgres import Postgres
from tests.support.waiting import until

MOST_MS = 250.0
MOST_MORE = 1.15
MOST_TAKEN = 15.0
SLOTS = 50
READERS = 500
WORKERS = (1, 2, 4)
TASKS = 1_000
MESSAGES = 60
HELD = 112
ASKERS = 8


class Fleet:
    """Processes on one database, each with a data folder of its own."""

    def __init__(self, stack: ExitStack, folder: Path, url: str, model_url: str) -> None:
        self._stack, self._folder, self.url, self._model_url = stack, folder, url, model_url
        self.kept = Kept(url)
        self._key = folder / "key"
        self._key.write_text("a key for the benchmarks and nothing else")

    def begin(self, name: str, role: str, *more: str, url: str | None = None) -> Server:
        """Start a process and wait until it answers."""
        environment = {
            "PILOTHOUSE_HOME": str(self._folder / name),
            "PILOTHOUSE_TOKEN": TOKEN,
            "PILOTHOUSE_DATABASE_URL": url or self.url,
            FILE_VARIABLE: str(self._key),
        }
        port = free_port()
        command: tuple[str | Path, ...] = (
            PILOTHOUSE,
            "serve",
            "--no-browser",
            "--port",
            str(port),
            "--role",
            role,
            *more,
        )
        started = self._stack.enter_context(process(*command, **environment))
        server = Server(started.pid, f"http://127.0.0.1:{port}", self._model_url)
        self._stack.callback(server.http.close)
        until(lambda: _answers(server), f"{name} to answer", 60)
        return server

    @contextmanager
    def open_counted_worker(self) -> Iterator[SlowLine]:
        """Start a worker whose round trips to the database are counted."""
        with open_slow_line(self.url, 0) as (line, there), ExitStack() as stack:
            inner = Fleet(stack, self._folder, self.url, self._model_url)
            inner.begin("counted", "worker", "--slots", str(SLOTS), url=there)
            yield line

    def model(self, web: Server, name: str) -> None:
        """Have all processes know a model of the model server."""
        entry = {"id": name, "name": name, "provider": "openai-compatible", "model": name}
        web.post("/api/models", {**entry, "baseUrl": f"{self._model_url}/v1"})

    def script(self, name: str, content: object) -> str:
        """Return a model that answers by a script."""
        file = self._folder / f"{name}.json"
        file.write_text(json.dumps({"turns": [[content]]}))
        return f"scripted:{file}"


def _answers(server: Server) -> bool:
    try:
        return server.http.get("/api/ready").status_code == 200
    except httpx2.TransportError:
        return False


@contextmanager
def fleet(database: Postgres, model_url: str) -> Iterator[Fleet]:
    """Have a fresh database, and processes on it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        url = stack.enter_context(database.database())
        yield Fleet(stack, folder, url, model_url)


class Measured(NamedTuple):
    """What one size took."""

    delays: list[int]
    delivered: bool
    # Seconds of processor time of a run: of the workers, and of the page's process.
    at_workers: float
    at_page: float


def asked(web: Server, model: str, count: int) -> list[str]:
    """Make conversations."""
    with ThreadPoolExecutor(ASKERS) as askers:
        return list(askers.map(lambda _: web.conversation(model), range(count)))


def ask_all(web: Server, ids: Sequence[str], within: float = 0.0) -> None:
    """Send a message to each, one after the other within so many seconds, as people do."""
    began = time.monotonic()

    def ask(number: int) -> None:
        time.sleep(max(0.0, began + within * number / len(ids) - time.monotonic()))
        web.ask(ids[number])

    with ThreadPoolExecutor(ASKERS) as askers:
        list(askers.map(ask, range(len(ids))))


def stream(made: Fleet, workers: int, options: argparse.Namespace, most_readers: int = 0) -> Measured:
    """Have as many conversations as there are slots, all at once, and read them all."""
    tokens = options.rate * options.seconds
    model = f"paced-{tokens}-{options.rate}"
    web = made.begin("web", "web")
    made.model(web, model)
    # One more than is needed: the last slot of a worker is for messages, which these are.
    working = [made.begin(f"w{number}", "worker", "--slots", str(SLOTS)) for number in range(workers)]
    ids = asked(web, model, SLOTS * workers)
    read = [ids[number % len(ids)] for number in range(max(most_readers, len(ids)))]
    with readers(web, read) as reading:
        before = [settled(server) for server in (*working, web)]
        # All are at work at once in the second half.
        ask_all(web, ids, options.seconds / 2)
        reads = reading.result()
        after = [settled(server) for server in (*working, web)]
    used = [now - then for now, then in zip(after, before, strict=True)]
    return Measured(
        sorted(delay for one in reads for delay in one.delays),
        all(_is_whole(one, tokens) for one in reads),
        sum(used[:-1]) / len(ids),
        used[-1] / len(ids),
    )


def _is_whole(read: Read, tokens: int) -> bool:
    return read.status == "completed" and read.tokens == tokens


def round_trips(made: Fleet, options: argparse.Namespace) -> float:
    """Return how often a worker waits for the database in a run, without what it says when it has nothing to do."""
    tokens = options.rate * options.seconds
    model = f"paced-{tokens}-{options.rate}"
    web = made.begin("web", "web")
    made.model(web, model)
    with made.open_counted_worker() as line:
        ids = asked(web, model, SLOTS)
        first, began = line.round_trips(), time.monotonic()
        time.sleep(10)
        idle = (line.round_trips() - first) / (time.monotonic() - began)
        first, began = line.round_trips(), time.monotonic()
        ask_all(web, ids)
        until(lambda: made.kept.statuses().get("completed") == len(ids), "all to be answered", 300)
        return (line.round_trips() - first - idle * (time.monotonic() - began)) / len(ids)


def behind_tasks(made: Fleet) -> list[float]:
    """Return how many seconds messages waited for their first step while tasks fill the queue."""
    web = made.begin("web", "web")
    task = made.script("task", {"text": "done " * 10, "pieces": 10, "every": 0.2})
    quick = made.script("quick", "Yes.")
    ids = asked(web, task, TASKS)
    with ThreadPoolExecutor(ASKERS) as askers:
        body = {"text": "Go.", "unattended": True}
        list(askers.map(lambda one: web.post(f"/api/conversations/{one}/messages", body), ids))
    made.begin("w", "worker", "--slots", "8")
    until(lambda: made.kept.statuses().get("running", 0) >= 7, "the tasks to begin", 60)
    mine = asked(web, quick, MESSAGES)
    for one in mine:
        web.ask(one)
        time.sleep(0.25)
    until(lambda: made.kept.one(_LEFT, mine) == 0, "the messages to be answered", 60)
    left = made.kept.statuses().get("queued", 0)
    print(f"  {left} tasks still waited when the last message had begun")
    accepted = dict(made.kept.ask("SELECT conversation_id, created_at FROM runs WHERE conversation_id = ANY(%s)", mine))
    begun = [
        event["at"] - accepted[event["run"]["conversationId"]]
        for event in made.kept.run_events()
        if event["run"]["status"] == "running" and event["run"]["conversationId"] in accepted
    ]
    return sorted(begun)


_LEFT = "SELECT count(*) FROM runs WHERE conversation_id = ANY(%s) AND status <> 'completed'"


def take_over(made: Fleet) -> float:
    """Return how many seconds after a process stood still the last of its runs was another's."""
    web = made.begin("web", "web")
    slow = made.script("slow", {"text": "word " * 200, "pieces": 5, "every": 3.0})
    stopped = made.begin("a", "worker", "--slots", "200")
    ask_all(web, asked(web, slow, HELD))
    until(lambda: len(made.kept.held()) >= HELD, "the runs to be at work", 60)
    (holder,) = {held.process for held in made.kept.held()}
    made.begin("b", "worker", "--slots", "200")
    os.kill(stopped.pid, signal.SIGSTOP)
    since = time.monotonic()
    try:
        until(lambda: all(held.process != holder for held in made.kept.held()), "the runs to be taken over", 120)
        return time.monotonic() - since
    finally:
        # It ends only if it goes on.
        os.kill(stopped.pid, signal.SIGCONT)


def show(found: dict[str, Measured]) -> None:
    """Print the delays and what they cost."""
    rows: list[tuple[str, ...]] = [("", "p50", "p99", "most", "delivered", "workers' CPU a run", "page's CPU a run")]
    for name, one in found.items():
        marks = [f"{quantile(one.delays, part):.0f} ms" for part in (0.5, 0.99, 1.0)]
        costs = [f"{one.at_workers * 1000:.0f} ms", f"{one.at_page * 1000:.0f} ms"]
        rows.append((name, *marks, "all" if one.delivered else "NOT ALL", *costs))
    table("From the model's byte to the reader's", rows)
    for name, one in found.items():
        verdict(f"p99, {name}", quantile(one.delays, 0.99), MOST_MS, " ms")
    floor = next(iter(found.values())).at_workers
    for name, one in [(name, one) for name, one in found.items() if name.endswith("slots")][1:]:
        verdict(f"processor time of a run against one worker, {name}", one.at_workers / floor, MOST_MORE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=5, help="tokens a second, about what a person reads")
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--workers", type=int, nargs="+", default=list(WORKERS))
    parser.add_argument("--only", choices=("stream", "trips", "tasks", "dead"), help="one part of it")
    options = parser.parse_args()
    parts = (options.only,) if options.only else ("stream", "trips", "tasks", "dead")
    with postgres() as database, endpoint() as model_url:
        if "stream" in parts:
            found: dict[str, Measured] = {}
            for workers in options.workers:
                with fleet(database, model_url) as made:
                    found[f"{workers} of {SLOTS} slots"] = stream(made, workers, options)
            with fleet(database, model_url) as made:
                most = options.workers[-1]
                found[f"{most}, {READERS} readers"] = stream(made, most, options, READERS)
            show(found)
        if "trips" in parts:
            with fleet(database, model_url) as made:
                trips = round_trips(made, options)
            table("Round trips to the database", [("of a run, at its worker", f"{trips:.1f}")])
        if "tasks" in parts:
            with fleet(database, model_url) as made:
                waited = behind_tasks(made)
            at = [statistics.median(waited) * 1000, waited[min(len(waited) - 1, int(len(waited) * 0.99))] * 1000]
            table(f"A message behind {TASKS} tasks", [("p50", f"{at[0]:.0f} ms"), ("p99", f"{at[1]:.0f} ms")])
            verdict("p50", at[0], 100, " ms")
            verdict("p99", at[1], 1000, " ms")
        if "dead" in parts:
            with fleet(database, model_url) as made:
                verdict(f"{HELD} runs of a process that stands still are others'", take_over(made), MOST_TAKEN, " s")


if __name__ == "__main__":
    main()
