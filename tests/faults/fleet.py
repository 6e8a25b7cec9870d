"""Several processes on one PostgreSQL: started, paused, killed and looked at, with what they accepted counted."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import psycopg

from pilothouse.store import packing, rows
from pilothouse.types import limits
from tests.faults import chance
from tests.support.databases import open_transaction
from tests.support.servers import TOKEN, Server
from tests.support.waiting import until

# The runs of a dead process go on elsewhere by the time that the others have said so often that they live, which is
# 15 s with TEST_LONG=1. Beside other tests it takes a few times as long: when one is taken for dead is counted by a
# clock of its own in tests/queue/test_liveness.py.
TAKEN_OVER_WITHIN = int(15.0 / limits.LEASE_RENEW) * (1 if chance.LONG else 4)
# So many messages are sent at once.
SENDERS = 8
BEGUN_WITHIN = 60.0
# No conversation has so many events.
NEVER = 10**9


class Held(NamedTuple):
    """A run at work, and who works on it."""

    run: str
    conversation: str
    process: str


class Kept:
    """What stands in the database, whoever wrote it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[Any] | None = None

    def ask(self, statement: str, *values: object) -> list[Any]:
        """Return the rows of a statement; on a new connection where a fault ended the one before."""
        if self._connection is not None:
            with contextlib.suppress(psycopg.OperationalError):
                return list(self._connection.execute(statement.encode(), values).fetchall())
        self.close()
        self._connection = psycopg.connect(self._url, autocommit=True)
        return list(self._connection.execute(statement.encode(), values).fetchall())

    def close(self) -> None:
        """End its connection."""
        if self._connection is not None:
            self._connection.close()

    def one(self, statement: str, *values: object) -> Any:
        """Return the first value of the first row."""
        return self.ask(statement, *values)[0][0]

    def held(self) -> list[Held]:
        """Return what is at work."""
        return [Held(*row) for row in self.ask("SELECT id, conversation_id, process FROM runs WHERE status='running'")]

    def held_by(self, server: Server) -> list[Held]:
        """Return what is at work at one process."""
        return [held for held in self.held() if is_of(server, held.process)]

    def statuses(self) -> Mapping[str, int]:
        """Return how many runs have which status."""
        return dict(self.ask("SELECT status, count(*) FROM runs GROUP BY 1"))

    def unfinished(self) -> int:
        """Return how many runs have not ended."""
        return int(self.one("SELECT count(*) FROM runs WHERE status IN ('queued', 'running', 'waiting')"))

    def run_events(self) -> list[dict[str, Any]]:
        """Return what was said of all runs, with the moment of each; packed or not."""
        ids = [conversation for (conversation,) in self.ask("SELECT id FROM conversations")]
        with open_transaction(self._url) as connection:
            found = [event for one in ids for event in packing.events_after(connection, one, -1)]
        return [json.loads(event.body) for event in found if event.kind == "run.updated"]

    def taken_over(self) -> dict[str, list[float]]:
        """Return when each run was taken over, for those that were."""
        deaths: dict[str, int] = {}
        moments: dict[str, list[float]] = {}
        for event in self.run_events():
            run = event["run"]
            if run.get("recoveries", 0) > deaths.get(run["id"], 0):
                deaths[run["id"]] = run["recoveries"]
                moments.setdefault(run["id"], []).append(event["at"])
        return moments

    def signs(self) -> dict[str, float]:
        """Return when each process last said that it lives."""
        return dict(self.ask("SELECT id, seen_at FROM processes WHERE id <> 'ready'"))

    def quiet_workers(self, seconds: float) -> int:
        """Return how many processes that take from the queue have told it nothing for so long."""
        quiet = "SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat < now() - make_interval(secs => %s)"
        return int(self.one(quiet, seconds))

    def jobs(self, status: str) -> int:
        """Return how many jobs of the queue have this status."""
        return int(self.one("SELECT count(*) FROM procrastinate_jobs WHERE status = %s", status))


class Signs:
    """Counts how often processes say that they live, from now on: all but one."""

    def __init__(self, kept: Kept, but: str) -> None:
        self._kept = kept
        self._last = {process: seen for process, seen in kept.signs().items() if process != but}
        self._counts = dict.fromkeys(self._last, 0)

    def fewest(self) -> int:
        """Look who has said so since the last look; return how often that one did who did so least."""
        for process, seen in self._kept.signs().items():
            if process in self._last and self._last[process] != seen:
                self._counts[process] += 1
                self._last[process] = seen
        return min(self._counts.values())


def is_of(server: Server, process: str) -> bool:
    """Return whether this is what a server calls itself in what it claims."""
    return f".{server.process.pid}." in process


def pause(server: Server) -> None:
    """Stop a process as it is."""
    server.process.send_signal(signal.SIGSTOP)


def go_on(server: Server) -> None:
    """Let a process go on that was stopped."""
    server.process.send_signal(signal.SIGCONT)


def lasts(seconds: float) -> None:
    """Let a fault last so long."""
    time.sleep(max(0.0, seconds))


class Fleet:
    """Processes with a data folder each, and a script that all of them can read."""

    def __init__(self, folder: Path, url: str, stack: ExitStack, limits: Mapping[str, float]) -> None:
        self.folder = folder
        self._stack = stack
        self._limits = limits
        self.url = url
        self.kept = Kept(url)
        stack.callback(self.kept.close)

    def begin(self, name: str, role: str, *more: str, url: str | None = None, mine: bool = False) -> Server:
        """Start a process by this name, with a tool whose effects are counted if it is to have one; it ends with us."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        arguments = ("--role", role, *more)
        dying = ("before", NEVER) if mine else None
        server = Server(
            folder / "home", database_url=url or self.url, arguments=arguments, dying=dying, limits=self._limits
        )
        self._stack.callback(self._end, server)
        return server

    def up(self, *servers: Server) -> None:
        """Wait until processes answer."""
        for server in servers:
            server.wait_until_up()

    @staticmethod
    def _end(server: Server) -> None:
        if not server.dead:
            # Whoever stands still does not hear that it is to end.
            go_on(server)
        server.close()

    def script(self, name: str, pieces: int, every: float, ending: Path | None = None) -> str:
        """Return a model that says so many words, one every so often, until a file is there that ends all pauses."""
        text = answer(pieces)
        until_there = f"\n      until: {ending}" if ending is not None else ""
        file = self.folder / f"{name}.yaml"
        file.write_text(
            f'turns:\n  - - text: "{text}"\n      pieces: {len(text) // pieces}\n      every: {every}{until_there}\n',
            encoding="utf-8",
        )
        return f"scripted:{file}"


def answer(pieces: int) -> str:
    """Return what such a model says."""
    return "".join(f"w{number:03d} " for number in range(pieces))


@contextmanager
def fleet(folder: Path, url: str, **limits: float) -> Iterator[Fleet]:
    """Have processes on a database, with other limits than the product's where some are given; they end with us."""
    with ExitStack() as stack:
        yield Fleet(folder, url, stack, limits)


class Sent(NamedTuple):
    """A message that was accepted."""

    conversation: str
    run: str


def send(server: Server, conversation: str, model: str, key: str, **more: object) -> Sent:
    """Send a message by a key of its own."""
    body: dict[str, Any] = {"text": f"message {key}", "modelId": model, "idempotencyKey": key, **more}
    return Sent(conversation, server.post(f"/api/conversations/{conversation}/messages", body, 202)["runId"])


def conversations(server: Server, count: int) -> list[str]:
    """Make conversations that have a title: no model is asked for one."""
    with ThreadPoolExecutor(SENDERS) as senders:
        made = senders.map(lambda n: server.post("/api/conversations", {"title": f"c{n}"}, 201), range(count))
        return [conversation["id"] for conversation in made]


def send_all(server: Server, ids: Sequence[str], model: str, key: str = "0", **more: object) -> list[Sent]:
    """Send one message to each conversation."""
    with ThreadPoolExecutor(SENDERS) as senders:
        return list(senders.map(lambda one: send(server, one, model, f"{one} {key}", **more), ids))


class Sender:
    """Sends messages until someone has accepted them, whoever that is."""

    def __init__(self, servers: Callable[[], Sequence[Server]]) -> None:
        self._servers = servers
        self._client = httpx2.Client(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=3, trust_env=False)
        # How often nobody did at first.
        self.tries = 0

    def post(self, path: str, body: Mapping[str, Any], status: int, within: float = 90.0) -> dict[str, Any]:
        """Post to one process after the other until one says that it did as asked."""
        end = time.monotonic() + within
        while True:
            servers = self._servers()
            server = servers[self.tries % len(servers)]
            self.tries += 1
            try:
                answered = self._client.post(server.url + path, json=dict(body))
                if answered.status_code == status:
                    return dict(answered.json())
                assert answered.status_code in (500, 503), answered.text
                said = answered.text
            except httpx2.TransportError as error:
                said = repr(error)
            assert time.monotonic() < end, f"nobody took it within {within} s: {said}"
            time.sleep(0.1)

    def send(self, conversation: str, model: str, key: str) -> str:
        """Send a message by a key of its own; return its run."""
        body = {"text": f"message {key}", "modelId": model, "idempotencyKey": key}
        return str(self.post(f"/api/conversations/{conversation}/messages", body, 202)["runId"])

    def close(self) -> None:
        """End its connections."""
        self._client.close()


class Counted(NamedTuple):
    """What became of what was accepted."""

    accepted: int
    lost: int
    doubled: int
    out_of_order: int


def count(kept: Kept, accepted: Mapping[str, Sequence[str]]) -> Counted:
    """Return what became of the runs of each conversation, given in the order in which they were accepted."""
    statuses = dict(kept.ask("SELECT id, status FROM runs"))
    begun: dict[str, list[str]] = {}
    for event in kept.run_events():
        run = event["run"]
        order = begun.setdefault(run["conversationId"], [])
        if run["status"] == "running" and run["id"] not in order:
            order.append(run["id"])
    wanted = [run for runs in accepted.values() for run in runs]
    wrong = [one for one, runs in accepted.items() if begun.get(one, []) != list(runs)]
    lost = [run for run in wanted if statuses.get(run) != "completed"]
    answers = kept.ask("SELECT run_id, body FROM items WHERE kind = 'response' AND status = 'completed'")
    said = [(run, rows.kept_item(bytes(body)).raw) for run, body in answers]
    standing = [(run, data.get("turn")) for run, data in said if not data.get("cutOff")]
    doubled = len(statuses) - len(set(wanted)) + len(standing) - len(set(standing))
    return Counted(len(wanted), len(lost), doubled, len(wrong))


def all_ended(kept: Kept, within: float) -> None:
    """Wait until no run is left to do."""
    until(lambda: not kept.unfinished(), f"everything to end: {kept.statuses()}", within)


def wait_until_held(kept: Kept, server: Server, most: int, within: float = BEGUN_WITHIN) -> list[Held]:
    """Wait until a process works on so many runs; return them."""
    until(lambda: len(kept.held_by(server)) >= most, f"{most} runs to be at work in one process", within)
    return kept.held_by(server)


def signs_until_left(kept: Kept, runs: Collection[str], process: str, within: float) -> int:
    """Wait until none of these runs is held by a process any more; return how many signs of life the others gave."""
    signs = Signs(kept, but=process)

    def left() -> bool:
        signs.fewest()
        return not [held for held in kept.held() if held.run in runs and held.process == process]

    until(left, f"the {len(runs)} runs of {process} to be taken over", within)
    return signs.fewest()
