"""Runs stages in lanes: one after the other within a lane, the lanes side by side.

A stage that mostly waits leaves the processor to the stages in the other lanes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from scripts.stage_report import Outcome

ROOT = Path(__file__).resolve().parent.parent


class Stage(NamedTuple):
    """A part of a run: its name, the work, which returns whether it succeeded, and the stages that must end first."""

    name: str
    work: Callable[[], bool]
    after: tuple[str, ...] = ()


@dataclass
class _Running:
    """What a running stage has used of the processor, and where its output goes; None is the terminal."""

    processor: float = 0.0
    output: IO[str] | None = None


_running: ContextVar[_Running] = ContextVar("_running")
# One lane prints at a time.
_printing = threading.Lock()


def say(text: str) -> None:
    """Print a line as part of the running stage's output."""
    running = _running.get(None)
    print(text, file=running.output if running else None, flush=True)


def run(*command: str | Path) -> bool:
    """Run a command in the repository and return whether it succeeded; its processor time counts for the stage."""
    running = _running.get(None) or _Running()
    errors = None if running.output is None else subprocess.STDOUT
    process = subprocess.Popen(command, cwd=ROOT, stdout=running.output, stderr=errors)
    # With what its own children used, as far as it waited for them.
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    running.processor += used.ru_utime + used.ru_stime
    return process.returncode == 0


def run_lanes(*lanes: Sequence[Stage], cases: Callable[[str], int]) -> list[Outcome]:
    """Run lanes side by side and return their stages' outcomes; `cases` counts the tests of a finished stage.

    The first lane prints as it goes, the others when a stage ends. Ctrl-C ends the commands that run, which hear of it
    from the terminal, and begins no others: stages begin in the main thread, which is interrupted first.
    """
    left = [deque(lane) for lane in lanes]
    outcomes: list[list[Outcome]] = [[] for _ in lanes]
    running: dict[Future[Outcome], int] = {}
    with ThreadPoolExecutor(len(lanes)) as pool:
        while any(left) or running:
            ended = {outcome.name for lane in outcomes for outcome in lane}
            for number, lane in enumerate(left):
                if lane and number not in running.values() and ended.issuperset(lane[0].after):
                    running[pool.submit(_run_stage, lane.popleft(), cases, live=number == 0)] = number
            assert running, f"{left} wait for each other"
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                outcomes[running.pop(done)].append(done.result())
    return [outcome for lane in outcomes for outcome in lane]


def _run_stage(stage: Stage, cases: Callable[[str], int], *, live: bool) -> Outcome:
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as kept:
        running = _Running(output=None if live else kept)
        token = _running.set(running)
        try:
            say(f"\n== {stage.name}")
            good = stage.work()
        except Exception:
            # The other stages and the report at the end are wanted all the same.
            say(traceback.format_exc())
            good = False
        finally:
            _running.reset(token)
        if not live:
            kept.seek(0)
            with _printing:
                sys.stdout.write(kept.read())
                sys.stdout.flush()
    return Outcome(stage.name, good, cases(stage.name), time.monotonic() - start, running.processor)
