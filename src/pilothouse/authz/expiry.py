"""Whether a passing permission still stands: by the wall clock, and by one that nobody can set back."""

from __future__ import annotations

import time
from collections.abc import Callable

from pilothouse.types.authority import Grant


class Expiry:
    """Remembers when each permission runs out by the steady clock, from when it was first seen here."""

    def __init__(self, now: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._steady = steady
        self._ends: dict[str, float] = {}

    def stands(self, grant: Grant) -> bool:
        """Return whether a permission is neither revoked nor over; a clock before its beginning tells nothing good."""
        now, steady = self._now(), self._steady()
        if grant.revoked_at is not None or not grant.created_at <= now < grant.expires_at:
            return False
        end = self._ends.setdefault(grant.id, steady + grant.expires_at - now)
        return steady < end
