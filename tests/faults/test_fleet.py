"""Several processes on one PostgreSQL: whatever happens to one of them delays only what it had in hand.

TEST_LONG=1 has it hold more runs and stops it for 20 s, `FAULTS_SECONDS=600` for 90.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pilothouse.types import limits
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
    send_all,
    signs_until_left,
    wait_until_held,
)
from tests.support import invariants
from tests.support.postgres import Postgres
from tests.support.replicas import set_master_key
from tests.support.servers import Server
from tests.support.stalling_line import StallingLine, open_stalling_line
from tests.support.waiting import until

# What one process holds when something happens to it, and what the others do.
MANY = 112 if chance.LONG else 24
FEW = 8 if chance.LONG else 4
# Until its worker is given up, too; and longer, where there is time.
PAUSED = 90.0 if chance.SECONDS >= 600 else 20.0 if chance.LONG else 0.0
QUIET = limits.WORKER_QUIET if chance.LONG else 10.0
# How often something new is seen of the others meanwhile: who waits for the one that stands still writes nothing.
ADVANCES = 5
LONG = 600
# A generous timeout: only a hang exceeds it.
AMPLE = 120.0
PIECES = 300


@pytest.fixture(autouse=True)
def _one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_master_key(monkeypatch, tmp_path)


class Watch:
    """Looks at conversations all the time: how often it saw that something was written to one of them."""

    def __init__(self, kept: Kept, ids: list[str]) -> None:
        self._kept = kept
        self._ids = ids
        self._stop = threading.Event()
        self.advances = 0
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        before = -1
        while not self._stop.wait(0.1):
            now = int(self._kept.one("SELECT sum(last_seq) FROM conversations WHERE id = ANY(%s)", self._ids))
            self.advances += now != before
            before = now

    def begin(self) -> None:
        """Count from now on."""
        self.advances = 0

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
        self.slow = made.script("slow", PIECES, 12.0, self._ending)
        self.quick = made.script("quick", PIECES, 1.0, self._ending)
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
        until(lambda: not self.kept.statuses().get("queued"), "everything to be at work", AMPLE)
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

        return until(busy, "the others to have something to do", AMPLE)

    @property
    def process(self) -> str:
        """Return what the one with many runs calls itself."""
        return self.mine[0].process

    def watching(self) -> Watch:
        return Watch(self.kept, [held.conversation for held in self.theirs])

    def left(self) -> None:
        """Wait until all its runs are taken over, as soon as that is promised."""
        signs = signs_until_left(self.kept, {held.run for held in self.mine}, self.process, AMPLE)
        print(f"taken over by the time that the others had given {signs} signs of life")
        assert signs <= TAKEN_OVER_WITHIN

    def left_still(self, watch: Watch) -> None:
        """Wait until the runs of one that stands still are taken over, and its worker has no jobs any more."""
        since = time.monotonic()
        self.left()
        assert watch.advances >= ADVANCES, "the others stood still as well"
        until(lambda: self.kept.quiet_workers(QUIET), "its worker to be given up", AMPLE)
        lasts(PAUSED - (time.monotonic() - since))

    def takes_part(self, server: Server) -> None:
        """Wait until a process takes something from the queue."""

        def taken() -> bool:
            self._say(self.quick, 1)
            return bool(self.kept.held_by(server))

        until(taken, "the process to take part again", AMPLE)

    def end(self) -> None:
        """Let all come to an end, and count."""
        self._ending.touch()
        all_ended(self.kept, AMPLE)
        counted = count(self.kept, self.accepted)
        moments = self.kept.taken_over()
        once = {moment for run in self.mine for moment in moments.get(run.run, ())}
        print(f"held {len(self.mine)}, taken over {len(moments)} in {len(once)} transaction(s), {counted}")
        # Its own, each once and all at one moment, and nothing of the living.
        assert set(moments) == {held.run for held in self.mine}
        assert all(len(times) == 1 for times in moments.values())
        assert len(once) == 1
        assert counted == (len(self.accepted), 0, 0, 0)
        self._check_answers()
        until(lambda: not self.kept.jobs("doing"), "no job to stay at work", AMPLE)
        assert not self.kept.jobs("todo")

    def _check_answers(self) -> None:
        snapshot = self.web.get(f"/api/conversations/{self.mine[0].conversation}?limit=100")
        responses = [item for item in snapshot["items"] if item["kind"] == "response"]
        assert [item["text"] for item in responses if not item["data"].get("cutOff")] == [answer(PIECES)]


@contextmanager
def _scene(folder: Path, url: str, url_of_victim: str | None = None) -> Iterator[Scene]:
    with fleet(folder, url, WORKER_QUIET=QUIET) as made:
        yield Scene(made, url_of_victim or url)
    invariants.check(url)


@pytest.mark.timeout(LONG)
def test_a_process_that_stands_still_delays_only_its_own_runs_and_they_go_on_elsewhere(
    tmp_path: Path, postgres_url: str
) -> None:
    with _scene(tmp_path, postgres_url) as scene, scene.watching() as watch:
        pause(scene.victim)
        watch.begin()
        scene.left_still(watch)
        written = _written(scene)
        go_on(scene.victim)
        # It learns that its runs are others' now, and takes new ones.
        scene.takes_part(scene.victim)
        assert _written(scene) >= written
        scene.end()


def _written(scene: Scene) -> int:
    ids = [held.conversation for held in scene.mine]
    return int(scene.kept.one("SELECT sum(last_seq) FROM conversations WHERE id = ANY(%s)", ids))


@pytest.mark.timeout(LONG)
def test_a_killed_process_that_is_back_at_once_takes_nothing_from_the_living(tmp_path: Path, postgres_url: str) -> None:
    with _scene(tmp_path, postgres_url) as scene:
        scene.victim.kill()
        again = scene.start_victim()
        scene.left()
        again.wait_until_up()
        scene.takes_part(again)
        scene.end()


@pytest.mark.timeout(LONG)
@pytest.mark.parametrize("how", ["half open", "cut off"])
def test_a_process_without_its_database_delays_only_its_own_runs_and_says_that_it_is_not_ready(
    tmp_path: Path, postgres_url: str, how: str
) -> None:
    with (
        open_stalling_line(postgres_url) as (line, url),
        _scene(tmp_path, postgres_url, url) as scene,
        scene.watching() as watch,
    ):
        gone, back = _ways(line)[how]
        gone()
        watch.begin()
        until(lambda: scene.victim.client.get("/api/ready").status_code == 503, "it to say that it is not ready")
        assert scene.victim.client.get("/api/health").status_code == 200
        scene.left_still(watch)
        back()
        until(lambda: scene.victim.client.get("/api/ready").status_code == 200, "it to be ready again", AMPLE)
        scene.takes_part(scene.victim)
        scene.end()


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
        all_ended(made.kept, AMPLE)
        until(lambda: not made.kept.jobs("doing"), "no job to stay at work", AMPLE)
        counted = count(made.kept, accepted)
        print(f"{how}: {counted}, posted {sender.tries} times, taken over {len(made.kept.taken_over())}")
        assert counted == (96, 0, 0, 0)
        for server in (web, *workers):
            until(lambda server=server: server.client.get("/api/ready").status_code == 200, "it to be ready", AMPLE)  # type: ignore[misc]
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
