"""A clock by which no day ends during a test."""

from __future__ import annotations

import time

import pytest

from pilothouse.types.usage import day_of

_now, _real = time.time(), time.time
_day = time.localtime(_now)
# As far from midnight as can be, on the day on which the tests began.
_AHEAD = time.mktime((*_day[:3], 12, 0, 0, *_day[6:8], -1)) - _now
TODAY = day_of(_now)
DAY = 86_400.0
YESTERDAY = day_of(_now + _AHEAD - DAY)


def let_it_be_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it be noon in this process when the tests begin."""
    monkeypatch.setattr(time, "time", lambda: _real() + _AHEAD)
