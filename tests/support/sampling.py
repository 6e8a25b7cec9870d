"""Runs a random share of many cases of one kind; all of them with TEST_LONG=1.

The seed is chosen once, printed, and passed to the workers in the environment. SAMPLE_SEED=… repeats a run: it chooses
the cases, Hypothesis's examples, the random faults and the mutants.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import TypeVar

import pytest

LONG = "TEST_LONG"
SEED = "SAMPLE_SEED"
SHARE = 0.1

Case = TypeVar("Case")
Other = TypeVar("Other")


def is_long() -> bool:
    """Return whether every case is wanted."""
    return os.environ.get(LONG, "") not in ("", "0")


def seed() -> str:
    """Return the seed of this run. The first call chooses it, also for the processes started later."""
    chosen = os.environ.setdefault(SEED, str(random.SystemRandom().randrange(10**6)))
    if not re.fullmatch(r"[0-9]{1,18}", chosen):
        raise pytest.UsageError(f"{SEED} must be a whole number of at most 18 digits, not {chosen!r}.")
    return chosen


def choose(cases: Sequence[Case], name: str, share: float = SHARE, least: int = 1) -> list[Case]:
    """Return a random share of the cases, at least `least`, in their order. Seed and name choose them.

    A fractional count is rounded up or down at random, so that every case is equally likely.
    """
    if is_long() or not cases:
        return list(cases)
    chance = random.Random(f"{seed()} {name}")
    count = max(least, int(len(cases) * share + chance.random()))
    places = chance.sample(range(len(cases)), min(count, len(cases)))
    return [cases[place] for place in sorted(places)]


def some_of(table: Mapping[str, Case], name: str, always: Collection[str], share: float = SHARE) -> dict[str, Case]:
    """Return the cases that always run and a random share of the others, in the table's order."""
    assert {*always} <= {*table}, f"{name} has no such cases: {', '.join({*always} - {*table})}"
    some = {*always, *choose([case for case in table if case not in always], name, share, 0)}
    return {key: case for key, case in table.items() if key in some}


def pairs(ones: Collection[Case], others: Collection[Other], name: str) -> list[tuple[Case, Other]]:
    """Pair the two lists at random, so that each element of either occurs at least once.

    With TEST_LONG=1, return every combination.
    """
    if is_long():
        return list(product(ones, others))
    chance, left, right = random.Random(f"{seed()} {name}"), list(ones), list(others)
    return [*((one, chance.choice(right)) for one in left), *((chance.choice(left), other) for other in right)]


def first_and_some(values: Sequence[object], share: float = 0.25) -> list[object]:
    """Return the values of a parameter of which the first always runs, and a share of the others."""
    first, *others = values
    return [first, *(pytest.param(other, marks=pytest.mark.sampled(share=share)) for other in others)]


def items_to_run(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return which of these tests run: a share of the sampled cases of each, those that always run, all others."""
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return {item for name, cases in groups.items() for item in _kept(name, cases)}


def _kept(name: str, cases: Sequence[pytest.Item]) -> list[pytest.Item]:
    marker = next(filter(None, (case.get_closest_marker("sampled") for case in cases)), None)
    if marker is None:
        return list(cases)
    ids: tuple[str, ...] = marker.kwargs.get("always", ())
    if missing := {*ids} - {_id(case) for case in cases}:
        raise pytest.UsageError(f"{name} has no such cases: {', '.join(missing)}.")
    always = [case for case in cases if _id(case) in ids or case.get_closest_marker("sampled") is None]
    if not always and cases[0].get_closest_marker("case"):
        raise pytest.UsageError(f"{name} proves a row: `sampled` names a case that always runs.")
    rest = [case for case in cases if case not in always]
    return [*always, *choose(rest, name, marker.kwargs.get("share", SHARE), 0 if always else 1)]


def _id(case: pytest.Item) -> str:
    return case.nodeid.partition("[")[2].removesuffix("]")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed before workers start, and pass it to Hypothesis's plugin, unless it was given another one."""
    config.option.hypothesis_seed = getattr(config.option, "hypothesis_seed", None) or seed()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases that are not chosen; whoever names tests, or wants those that failed, gets all of theirs."""
    if is_long() or config.getoption("lf", False) or any("::" in named for named in config.args):
        return
    wanted = items_to_run(items)
    if left := [item for item in items if item not in wanted]:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item in wanted]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how the same cases are run again."""
    if not is_long() and not terminalreporter.config.option.collectonly:
        terminalreporter.write_line(f"Of sampled tests a share ran: {SEED}={seed()} repeats it, {LONG}=1 runs all.")
