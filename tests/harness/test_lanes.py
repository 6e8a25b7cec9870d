"""How `scripts/test` runs stages side by side."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading

import pytest

from scripts.lanes import ROOT, Stage, run, run_lanes, say
from tests.support.waiting import PATIENCE

WORK = "import time\nwhile time.process_time() < 0.3: pass"


def no_cases(stage: str) -> int:
    return 0


def test_lanes_run_side_by_side() -> None:
    """Each waits for the other."""
    both = threading.Barrier(2)

    def meet() -> bool:
        return both.wait(PATIENCE) >= 0

    outcomes = run_lanes([Stage("one", meet)], [Stage("two", meet)], cases=no_cases)
    assert [(outcome.name, outcome.good) for outcome in outcomes] == [("one", True), ("two", True)]


def test_the_stages_of_a_lane_run_in_order_and_go_on_after_a_failure() -> None:
    ran: list[str] = []

    def fail() -> bool:
        ran.append("first")
        return False

    def succeed() -> bool:
        ran.append("second")
        return True

    outcomes = run_lanes([Stage("first", fail), Stage("second", succeed)], cases=len)
    assert ran == ["first", "second"]
    assert [(outcome.good, outcome.cases) for outcome in outcomes] == [(False, 5), (True, 6)]


def test_a_stage_that_raises_has_failed_says_why_and_the_others_run(capfd: pytest.CaptureFixture[str]) -> None:
    def raises() -> bool:
        say("before")
        raise OSError("no such tool")

    first, raised, following = run_lanes(
        [Stage("first", lambda: True)], [Stage("raises", raises), Stage("following", lambda: True)], cases=no_cases
    )
    assert (first.good, raised.good, following.good) == (True, False, True)
    assert re.search("== raises\nbefore\nTraceback.*OSError: no such tool", capfd.readouterr().out, re.DOTALL)


def test_a_stage_waits_for_those_of_other_lanes_that_must_end_first() -> None:
    ran: list[str] = []
    waits = threading.Event()

    def first() -> bool:
        # The other lane has had its turn by now, and did not begin.
        waits.wait(PATIENCE)
        ran.append("first")
        return False

    def third() -> bool:
        ran.append("third")
        waits.set()
        return True

    def second() -> bool:
        ran.append("second")
        return True

    run_lanes(
        [Stage("first", first)], [Stage("third", third), Stage("second", second, after=("first",))], cases=no_cases
    )
    assert ran == ["third", "first", "second"]


def test_the_output_of_another_lane_is_printed_in_one_piece(capfd: pytest.CaptureFixture[str]) -> None:
    """The first lane speaks while the other one is between two lines."""
    begun, spoken = threading.Event(), threading.Event()

    def first() -> bool:
        begun.wait(PATIENCE)
        say("first lane")
        spoken.set()
        return True

    def other() -> bool:
        say("one line")
        begun.set()
        spoken.wait(PATIENCE)
        return run(sys.executable, "-c", "print('another line')")

    run_lanes([Stage("first", first)], [Stage("other", other)], cases=no_cases)
    assert "\n== other\none line\nanother line\n" in capfd.readouterr().out


def test_the_processor_time_of_a_stage_is_that_of_its_own_commands() -> None:
    busy, idle = run_lanes(
        [Stage("busy", lambda: run(sys.executable, "-c", WORK))],
        [Stage("idle", lambda: True)],
        cases=no_cases,
    )
    assert busy.processor >= 0.3
    assert idle.processor == 0


INTERRUPTED = """
import signal, subprocess, sys
from scripts.lanes import Stage, run, run_lanes
# Whoever starts this may ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
wait = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); print('waiting', flush=True); signal.pause()"
first = Stage("first", lambda: run(sys.executable, "-c", wait))
run_lanes([first, Stage("second", lambda: True)], [Stage("beside", lambda: True)], cases=lambda stage: 0)
"""


def test_ctrl_c_ends_what_runs_and_begins_no_other_stage() -> None:
    started = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    assert started.stdout is not None
    said = ""
    while "waiting" not in said:
        said += started.stdout.readline()
    # As a terminal does, to all that it has started.
    os.killpg(started.pid, signal.SIGINT)
    rest, _ = started.communicate(timeout=PATIENCE)
    assert "== second" not in said + rest
    assert started.returncode == -signal.SIGINT


def test_a_command_outside_of_a_stage_says_whether_it_succeeded() -> None:
    assert run(sys.executable, "-c", "pass")
    assert not run(sys.executable, "-c", "raise SystemExit(3)")
