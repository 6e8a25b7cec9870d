"""Several processes on one PostgreSQL: whatever happens to one of them delays only what it had in hand.

`FAULTS_SECONDS=600` stops a process for 90 s instead of 20.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults import chance
from tests.faults.fleet import (
    TAKEN_OVER_WITHIN,
    Fleet,
    Held,
    Kept,
    Sender,
    all_ended,
    answer,
    conversations,
    count,
    fleet,
    go_on,
    is_of,
    lasts,
    pause,
    seconds_to_leave,
    send_all,
    wait_until_held,
)
from tests.faults.serving import Server
from tests.support import invariants
from tests.support.postgres import Postgres
from tests.support.replicas import give_key
from tests.support.stalling import StallingLine, stalling
from tests.support.waiting import until

# What one process holds when something happens to it, and what the others do.
MANY = 112
FEW = 8
PAUSED = 90.0 if chance.SECONDS >= 600 else 20.0
# The longest for which nothing of the others may be written, on a machine that has much else to do.
STILL = 6.0
LONG = 600
PIECES = 400


@pytest.fixture(autouse=True)
def _one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_key(monkeypatch, tmp_path)


class Watch:
    """Looks at conversations all the time: the longest for which nothing was written to any of them."""

    def __init__(self, kept: Kept, ids: list[str]) -> None:
        self._kept = kept
        self._ids = ids
        self._stop = threading.Event()
        self.longest = 0.0
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        since, before = time.monotonic(), -1
        while not self._stop.wait(0.1):
            now = int(self._kept.one("SELECT sum(last_seq) FROM conversations WHERE id = ANY(%s)", self._ids))
            if now != before:
                since, before = time.monotonic(), now
            self.longest = max(self.longest, time.monotonic() - since)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()


class Scene:
    """A page's process, one worker with many runs, and two with a few each."""

    def __init__(self, made: Fleet, url_of_victim: str) -> None:
        self.fleet, self.kept = made, made.kept
        self._url = url_of_victim
        self._ending = made.folder / "enough"
        self.slow = made.script("slow", PIECES, 3.0, self._ending)
        self.quick = made.script("quick", PIECES, 0.5, self._ending)
        self.accepted: dict[str, list[str]] = {}
        self.web = made.begin("web", "web")
        self.victim = self.start_victim()
        made.up(self.web, self.victim)
        self._say(self.slow, MANY)
        self.mine = wait_until_held(self.kept, self.victim, MANY)
        self.others = [made.begin(name, "worker", "--slots", "400") for name in ("b", "c")]
        made.up(*self.others)
        self.theirs = self._theirs()
        # With what came to it meanwhile.
        until(lambda: not self.kept.statuses().get("queued"), "everything to be at work")
        self.mine = self.kept.held_by(self.victim)

    def start_victim(self) -> Server:
        return self.fleet.begin("a", "worker", "--slots", "400", url=self._url)

    def _say(self, model: str, many: int) -> None:
        for sent in send_all(self.web, conversations(self.web, many), model):
            self.accepted.setdefault(sent.conversation, []).append(sent.run)

    def _theirs(self) -> list[Held]:
        """Give the others something to do."""

        def busy() -> list[Held] | None:
            held = self.kept.held()
            each = [[one for one in held if is_of(server, one.process)] for server in self.others]
            if all(len(one) >= FEW for one in each):
                return [one for some in each for one in some]
            self._say(self.quick, FEW)
            return None

        return until(busy, "the others to have something to do", 60)

    @property
    def process(self) -> str:
        """Return what the one with many runs calls itself."""
        return self.mine[0].process

    def watching(self) -> Watch:
        return Watch(self.kept, [held.conversation for held in self.theirs])

    def left(self, since: float) -> float:
        """Wait until all its runs are taken over; return how long that took."""
        return seconds_to_leave(self.kept, {held.run for held in self.mine}, self.process, since, 60)

    def takes_part(self, server: Server) -> None:
        """Wait until a process takes something from the queue."""

        def taken() -> bool:
            self._say(self.quick, 1)
            return bool(self.kept.held_by(server))

        until(taken, "the process to take part again", 60)

    def end(self, watch: Watch, seconds: float) -> None:
        """Let all come to an end, and count."""
        self._ending.touch()
        all_ended(self.kept, 90)
        counted = count(self.kept, self.accepted)
        moments = self.kept.taken_over()
        once = {moment for run in self.mine for moment in moments.get(run.run, ())}
        print(
            f"held {len(self.mine)}, taken over {len(moments)} in {len(once)} transaction(s) within {seconds:.1f} s, "
            f"{counted}, others stood still for at most {watch.longest:.1f} s"
        )
        # Its own, each once and all at one moment, and nothing of the living.
        assert set(moments) == {held.run for held in self.mine}
        assert all(len(times) == 1 for times in moments.values())
        assert len(once) == 1
        assert seconds < TAKEN_OVER_WITHIN
        assert watch.longest < STILL
        assert counted == (len(self.accepted), 0, 0, 0)
        self._check_answers()
        until(lambda: not self.kept.jobs("doing"), "no job to stay at work")
        assert not self.kept.jobs("todo")

    def _check_answers(self) -> None:
        snapshot = self.web.get(f"/api/conversations/{self.mine[0].conversation}?limit=100")
        responses = [item for item in snapshot["items"] if item["kind"] == "response"]
        assert [item["text"] for item in responses if not item["data"].get("cutOff")] == [answer(PIECES)]


@contextmanager
def _scene(folder: Path, url: str, url_of_victim: str | None = None) -> Iterator[Scene]:
    with fleet(folder, url) as made:
        yield Scene(made, url_of_victim or url)
    invariants.check(url)


@pytest.mark.timeout(LONG)
def test_a_process_that_stands_still_delays_only_its_own_runs_and_they_go_on_elsewhere(
    tmp_path: Path, postgres_url: str
) -> None:
    with _scene(tmp_path, postgres_url) as scene, scene.watching() as watch:
        pause(scene.victim)
        since = time.monotonic()
        seconds = scene.left(since)
        lasts(PAUSED - (time.monotonic() - since))
        written = _written(scene)
        go_on(scene.victim)
        # It learns that its runs are others' now, and takes new ones.
        scene.takes_part(scene.victim)
        assert _written(scene) >= written
        scene.end(watch, seconds)


def _written(scene: Scene) -> int:
    ids = [held.conversation for held in scene.mine]
    return int(scene.kept.one("SELECT sum(last_seq) FROM conversations WHERE id = ANY(%s)", ids))


@pytest.mark.timeout(LONG)
def test_a_killed_process_that_is_back_at_once_takes_nothing_from_the_living(tmp_path: Path, postgres_url: str) -> None:
    with _scene(tmp_path, postgres_url) as scene, scene.watching() as watch:
        scene.victim.kill()
        since = time.monotonic()
        again = scene.start_victim()
        seconds = scene.left(since)
        again.wait_until_up()
        scene.takes_part(again)
        scene.end(watch, seconds)


@pytest.mark.timeout(LONG)
@pytest.mark.parametrize("how", ["half open", "cut off"])
def test_a_process_without_its_database_delays_only_its_own_runs_and_says_that_it_is_not_ready(
    tmp_path: Path, postgres_url: str, how: str
) -> None:
    with (
        stalling(postgres_url) as (line, url),
        _scene(tmp_path, postgres_url, url) as scene,
        scene.watching() as watch,
    ):
        gone, back = _ways(line)[how]
        gone()
        since = time.monotonic()
        until(lambda: scene.victim.client.get("/api/ready").status_code == 503, "it to say that it is not ready")
        assert scene.victim.client.get("/api/health").status_code == 200
        seconds = scene.left(since)
        lasts(PAUSED - (time.monotonic() - since))
        back()
        until(lambda: scene.victim.client.get("/api/ready").status_code == 200, "it to be ready again", 40)
        scene.takes_part(scene.victim)
        scene.end(watch, seconds)


def _ways(line: StallingLine) -> dict[str, tuple[Callable[[], None], Callable[[], None]]]:
    return {"half open": (line.stall, line.go_on), "cut off": (line.cut, line.mend)}


@pytest.mark.case("F-46")
@pytest.mark.timeout(LONG)
@pytest.mark.parametrize("how", ["restarted", "connections ended"])
def test_a_database_that_fails_under_several_processes_loses_and_doubles_nothing(
    tmp_path: Path, postgres: Postgres, postgres_url: str, how: str
) -> None:
    accepted: dict[str, list[str]] = {}
    # The tests' own database forgets the last moments when it is stopped; one that people have does not.
    postgres.execute(f'ALTER DATABASE "{postgres_url.rpartition("/")[2]}" SET synchronous_commit = on')
    with fleet(tmp_path, postgres_url) as made:
        web = made.begin("web", "web")
        workers = [made.begin(name, "worker", "--slots", "10") for name in ("a", "b")]
        made.up(web, *workers)
        model = made.script("short", 8, 0.1)
        accepted |= {one: [] for one in conversations(web, 24)}
        trouble = threading.Thread(target=_trouble, args=(postgres, postgres_url, how))
        trouble.start()
        sender = Sender(lambda: [web])
        for each in range(4):
            for one, runs in accepted.items():
                runs.append(sender.send(one, model, f"{one} {each}"))
        sender.close()
        trouble.join()
        all_ended(made.kept, 120)
        until(lambda: not made.kept.jobs("doing"), "no job to stay at work", 40)
        counted = count(made.kept, accepted)
        print(f"{how}: {counted}, posted {sender.tries} times, taken over {len(made.kept.taken_over())}")
        assert counted == (96, 0, 0, 0)
        for server in (web, *workers):
            until(lambda server=server: server.client.get("/api/ready").status_code == 200, "it to be ready", 40)  # type: ignore[misc]
    invariants.check(postgres_url)


def _trouble(postgres: Postgres, url: str, how: str) -> None:
    """Let the database fail a few times."""
    name = url.rpartition("/")[2]
    for _ in range(2 if how == "restarted" else 15):
        lasts(0.5)
        if how == "restarted":
            postgres.interrupt()
            lasts(2)
            postgres.resume()
        else:
            postgres.execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND random() < 0.5"
            )
