"""Measures each test's processor time, with that of the processes it started, for the suite's report."""

from __future__ import annotations

import os
import resource
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support import forked

# The name of the property in a JUnit report; scripts/stage_report.py reads it.
PROPERTY = "processor"
_BEGAN = pytest.StashKey[float]()
_TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """Return what this process, the children it waited for and its forked processes have used so far."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    used = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    return used + sum(_used_by(pid) for pid in forked.origins())


def _used_by(pid: int) -> float:
    """Return what a process and the children it waited for have used; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(ticks) for ticks in fields[11:15]) / _TICKS


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note the processor time at a test's start."""
    item.stash[_BEGAN] = processor_seconds()
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Add the processor time to a test's last report."""
    if call.when == "teardown":
        item.user_properties.append((PROPERTY, f"{processor_seconds() - item.stash[_BEGAN]:.3f}"))
