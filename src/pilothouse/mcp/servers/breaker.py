"""Keeps calls away from a server that does not answer."""

from __future__ import annotations

import time
from collections.abc import Callable

from pilothouse.types import limits


class Breaker:
    """Opens after failures in a row; then one call at a time is let through to try."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._opened_at = 0.0
        self._trying = False

    def wait(self) -> float:
        """Return 0 when a call may go now, else the seconds until one may."""
        if self._failures < limits.BREAKER_FAILURES:
            return 0.0
        left = self._opened_at + limits.BREAKER_OPEN - self._clock()
        if left > 0:
            return left
        if self._trying:
            return limits.BREAKER_OPEN
        self._trying = True
        return 0.0

    def succeeded(self) -> None:
        """A call was answered: all is well."""
        self._failures = 0
        self._trying = False

    def failed(self) -> None:
        """The server did not answer a call."""
        self._failures += 1
        self._opened_at = self._clock()
        self._trying = False

    def undecided(self) -> None:
        """A call is over, and may have told nothing about the server: someone cancelled it, or must sign in first."""
        self._trying = False
