"""What `scripts/test` prints at its end: a line for each stage, the slowest tests, and how many passed."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

# How many of the slowest tests are printed.
SLOWEST = 20


class Outcome(NamedTuple):
    """How a stage ended, how many tests it ran, and how long it and its processors took."""

    name: str
    good: bool
    cases: int
    seconds: float
    processor: float


class Case(NamedTuple):
    """One test of a report."""

    name: str
    state: str
    seconds: float
    processor: float


def cases(report: Path) -> Iterator[Case]:
    """Yield the tests of a JUnit report; none of a report that is missing or was not written to its end."""
    try:
        root = ET.parse(report).getroot()
    except (FileNotFoundError, ET.ParseError):
        return
    for case in root.iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None
        state = "failed" if bad else "skipped" if case.find("skipped") is not None else "passed"
        used = [float(each.get("value", 0)) for each in case.iter("property") if each.get("name") == "processor"]
        name = f"{case.get('classname')}::{case.get('name')}"
        yield Case(name, state, float(case.get("time", 0)), max(used, default=0.0))


def machine_time() -> float:
    """Return the processor seconds that everything on this machine has used since it started."""
    times = psutil.cpu_times()
    return sum(getattr(times, kind, 0.0) for kind in ("user", "system", "irq", "softirq"))


def table(outcomes: Sequence[Outcome], seconds: float, processor: float) -> Iterator[str]:
    """Yield a line for each stage, and one for the run, with its seconds and the machine's processor seconds.

    Stages run in parallel, so their seconds add up to more than the run's. Their processor seconds add up to less:
    they leave out what is not a child of the stage, such as Chromium and PostgreSQL.
    """
    yield "       cases   seconds  processor  cores  stage"
    every = Outcome(
        "in all",
        good=all(each.good for each in outcomes),
        cases=sum(each.cases for each in outcomes),
        seconds=seconds,
        processor=processor,
    )
    for each in (*outcomes, every):
        mark, busy = "ok" if each.good else "FAIL", each.processor / max(each.seconds, 0.01)
        yield f"{mark:4} {each.cases or '':>7} {each.seconds:9.1f} {each.processor:10.1f} {busy:6.1f}  {each.name}"


def slowest(reports: Sequence[Path]) -> Iterator[str]:
    """Yield a line for each of the slowest tests, the slowest first."""
    every = (case for report in reports for case in cases(report))
    for case in sorted(every, key=lambda case: case.seconds, reverse=True)[:SLOWEST]:
        yield f"{case.seconds:8.1f} s {case.processor:7.1f} processor s  {case.name}"


def counts(reports: Sequence[Path]) -> tuple[int, int, int]:
    """Return how many tests passed, failed and were skipped."""
    states = [case.state for report in reports for case in cases(report)]
    return states.count("passed"), states.count("failed"), states.count("skipped")
