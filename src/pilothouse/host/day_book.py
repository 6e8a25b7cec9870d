"""What a day costs: what was counted, over all processes, and what runs of this one are being answered meanwhile."""

from __future__ import annotations

import time
from collections import defaultdict

import msgspec

from pilothouse.timeline.feed import Feed
from pilothouse.timeline.store_outages import patiently
from pilothouse.types.records import Records
from pilothouse.types.usage import DaySpending, day_of


class DayBook:
    """What the requests may cost that are under way in this process, by owner."""

    def __init__(self) -> None:
        self._expected: defaultdict[str, float] = defaultdict(float)

    def of(self, records: Records, feed: Feed, owner: str) -> OwnersDay:
        """Return the days of an owner, for one run."""
        return OwnersDay(self._expected, records, feed, owner)


class OwnersDay:
    """What an owner's day costs, as one run sees it; implements the agent's `DayPurse`."""

    def __init__(self, expected: defaultdict[str, float], records: Records, feed: Feed, owner: str) -> None:
        self._expected = expected
        self._records = records
        self._feed = feed
        self._owner = owner

    async def spent(self) -> DaySpending:
        kept = await patiently(self._feed, lambda: self._records.spent_on(self._owner, day_of(time.time())))
        return msgspec.structs.replace(kept, cost=kept.cost + max(0.0, self._expected[self._owner]))

    def expect(self, cost: float) -> None:
        self._expected[self._owner] += cost
