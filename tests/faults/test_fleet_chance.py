"""Three processes for the page and three that work, on one PostgreSQL: whatever chance does to them, nothing is lost.

A sample of it, in which a dead process is noticed sooner; TEST_LONG=1 takes a minute with the limits of the product,
and `SAMPLE_SEED=8 FAULTS_SECONDS=600` goes on for ten, by this seed.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.faults import chance
from tests.faults.fleet import Fleet, Sender, all_ended, conversations, count, fleet, go_on, pause
from tests.faults.limited import SOON
from tests.support import invariants
from tests.support.replicas import set_master_key
from tests.support.servers import Server
from tests.support.stalling_line import StallingLine, open_stalling_line
from tests.support.waiting import until

# A minute where nobody asked for more.
SECONDS = min(chance.SECONDS, 60.0) if chance.SECONDS <= 120 else chance.SECONDS
# Longer than a sample lasts, a process that says nothing is waited for.
SAMPLE = SECONDS < 60
LIMITS = {**SOON, "MAX_RECOVERIES": 1_000} if SAMPLE else {}
CONVERSATIONS = 100 if SAMPLE else 500
SENDERS = 6 if SAMPLE else 12
SLOTS = "20"
# Between two messages of one sender.
REST = 0.4
# After the last fault everything must have come to an end by then; only what hangs takes so long.
CALM = 150.0
# So many faults happen, however slow the machine is.
LEAST = int(SECONDS / 12) + 1
# Shorter and longer than it takes until a process is taken for dead.
FAULT = (0.2, 3.0) if SAMPLE else (1.0, 14.0)


class Place:
    """A process that is begun again and again, and its line to the database."""

    def __init__(self, made: Fleet, name: str, role: str, line: tuple[StallingLine, str]) -> None:
        self._made, self._name, self._role = made, name, role
        self._line, self._url = line
        self.server = self.begin()

    def begin(self) -> Server:
        more = ("--slots", SLOTS) if self._role == "worker" else ()
        return self._made.begin(self._name, self._role, *more, url=self._url)

    def suffer(self, dice: random.Random, rest: Callable[[float], object]) -> str:
        """Let something happen to it for a while; return what it was."""
        what = dice.choice(("killed", "killed and back at once", "paused", "half open", "cut off"))
        seconds = dice.uniform(*FAULT)
        if what.startswith("killed"):
            self.server.kill()
            rest(0 if "at once" in what else seconds)
            self.server = self.begin()
            self.server.wait_until_up()
            return what
        ways: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
            "paused": (lambda: pause(self.server), lambda: go_on(self.server)),
            "half open": (self._line.stall, self._line.go_on),
            "cut off": (self._line.cut, self._line.mend),
        }
        gone, back = ways[what]
        gone()
        try:
            rest(seconds)
        finally:
            back()
        return what


class World:
    """Those who send and those who spoil, and what was accepted."""

    def __init__(self, made: Fleet, webs: list[Place], workers: list[Place], ids: list[str]) -> None:
        self._webs, self._workers = webs, workers
        self._quick = made.script("quick", 3, 0.02)
        self._slow = made.script("slow", 12, 0.5)
        self.accepted: dict[str, list[str]] = {one: [] for one in ids}
        self.happened: Counter[str] = Counter()
        self.tries = 0
        self._over = threading.Event()
        self._failed: list[BaseException] = []

    def go(self, seconds: float) -> None:
        """Send and spoil for so long."""
        ids = list(self.accepted)
        work = [partial(self._send, random.Random(chance.SEED + n), ids[n::SENDERS]) for n in range(SENDERS)]
        work += [
            partial(self._spoil, random.Random(chance.SEED * 100 + n), places)
            for n, places in enumerate((self._webs, self._workers))
        ]
        threads = [threading.Thread(target=self._guarded, args=(one,)) for one in work]
        for thread in threads:
            thread.start()
        self._over.wait(seconds)
        until(lambda: self._over.is_set() or self.happened.total() >= LEAST, "some faults to happen", CALM)
        self._over.set()
        for thread in threads:
            thread.join()
        for failed in self._failed:
            raise failed

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self._failed.append(error)
            self._over.set()

    def _send(self, dice: random.Random, ids: list[str]) -> None:
        sender = Sender(lambda: [place.server for place in self._webs])
        # Each conversation once, and then some again.
        first = iter(ids)
        while not self._over.wait(REST * dice.random() * 2):
            one = next(first, None) or dice.choice(ids)
            model = self._slow if dice.random() < 0.1 else self._quick
            self.accepted[one].append(sender.send(one, model, f"{one} {len(self.accepted[one])}"))
        self.tries += sender.tries
        sender.close()

    def _spoil(self, dice: random.Random, places: list[Place]) -> None:
        while not self._over.wait(dice.uniform(0.5, 3.0)):
            place = dice.choice(places)
            self.happened[place.suffer(dice, self._over.wait)] += 1


@pytest.mark.case("F-61")
@pytest.mark.timeout(SECONDS + CALM + 240)
def test_whatever_happens_to_processes_nothing_is_lost_doubled_or_out_of_order(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    print(f"SAMPLE_SEED={chance.SEED}, {SECONDS:g} s")
    set_master_key(monkeypatch, tmp_path)
    with ExitStack() as stack:
        lines = [stack.enter_context(open_stalling_line(postgres_url)) for _ in range(6)]
        made = stack.enter_context(fleet(tmp_path, postgres_url, **LIMITS))
        webs = [Place(made, f"web{n}", "web", lines[n]) for n in range(3)]
        workers = [Place(made, f"worker{n}", "worker", lines[3 + n]) for n in range(3)]
        made.up(*(place.server for place in (*webs, *workers)))
        world = World(made, webs, workers, conversations(webs[0].server, CONVERSATIONS))
        world.go(SECONDS)
        calmed = time.monotonic()
        all_ended(made.kept, CALM)
        calm = time.monotonic() - calmed
        until(lambda: not made.kept.jobs("doing"), "no job to stay at work", CALM)
        counted = count(made.kept, world.accepted)
        taken = made.kept.taken_over()
        print(
            f"{counted}, posted {world.tries} times, taken over {len(taken)}, in calm after {calm:.1f} s, "
            f"happened: {dict(world.happened)}"
        )
        assert counted[1:] == (0, 0, 0)
        assert made.kept.jobs("todo") == 0
    invariants.check(postgres_url)
