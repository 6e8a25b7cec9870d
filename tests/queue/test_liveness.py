"""Who is taken for dead, and when: by signs that stay the same for as long as somebody looked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from pilothouse.queue import liveness
from pilothouse.types import limits
from pilothouse.types.items import Item
from pilothouse.types.processes import ProcessAbout
from pilothouse.types.records import Settle
from pilothouse.types.runs import Run
from tests.support.waiting import eventually

# What is promised: the runs of a process that says nothing go on elsewhere within this.
PROMISED = 15.0


class Eye:
    """One who looks at the signs of others, by a clock that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        monkeypatch.setattr(liveness, "time", SimpleNamespace(monotonic=lambda: self.now))
        anything: Any = None
        self._liveness = liveness.Liveness(anything, anything, "me", anything, anything)

    def look(self, after: float, **signs: float) -> set[str]:
        """Look after so many seconds; return who is taken for dead."""
        self.now += after
        return self._liveness._still(signs)


@pytest.fixture
def eye(monkeypatch: pytest.MonkeyPatch) -> Eye:
    return Eye(monkeypatch)


def test_who_says_nothing_is_taken_for_dead_in_time_and_not_before(eye: Eye) -> None:
    eye.look(0, quiet=1.0, lives=1.0)
    passed = 0.0
    while not (dead := eye.look(limits.LEASE_RENEW, quiet=1.0, lives=passed)):
        passed += limits.LEASE_RENEW
    assert dead == {"quiet"}
    # The look that found it is one more; and before the first one it may have lived for as long as between two.
    assert limits.LEASE_DEAD <= passed + limits.LEASE_RENEW <= PROMISED - 2 * limits.LEASE_RENEW


def test_who_was_held_up_does_not_take_others_for_dead_that_were_held_up_as_well(eye: Eye) -> None:
    eye.look(0, other=1.0)
    assert not eye.look(60, other=1.0)
    assert not eye.look(60, other=1.0)
    assert not eye.look(limits.LEASE_RENEW, other=2.0)


def test_who_says_nothing_is_taken_for_dead_also_by_one_that_looks_rarely(eye: Eye) -> None:
    eye.look(0, quiet=1.0)
    looks = [eye.look(60, quiet=1.0) for _ in range(liveness.LOOKS)]
    assert looks == [set()] * (liveness.LOOKS - 1) + [{"quiet"}]


def test_a_process_that_is_seen_for_the_first_time_is_waited_for(eye: Eye) -> None:
    eye.look(0)
    assert not eye.look(60, late=1.0)
    assert not eye.look(limits.LEASE_RENEW, late=1.0)


class SlowRecords:
    """A store in which taking over what a process left takes until it is released."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.release = asyncio.Event()

    async def take_over(self, _process: str, _settle: Settle) -> Sequence[Run]:
        self.begun.set()
        await self.release.wait()
        return ()

    async def forget_process(self, _process: str) -> None: ...


async def test_a_process_goes_on_saying_that_it_lives_while_it_takes_over(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LEASE_RENEW", 0.01)
    records: Any = SlowRecords()
    dead: set[str] = set()

    def leave(_run: Run, _items: Sequence[Item]) -> None: ...

    async def connect() -> psycopg.AsyncConnection[Any]:
        return await psycopg.AsyncConnection.connect(postgres_url, autocommit=True)

    async def take(_run: Run) -> None: ...

    survivors = liveness.Survivors(is_dead=dead.__contains__, settling=lambda _process: leave, taken=take)
    this = liveness.Liveness(connect, records, "me", lambda: ProcessAbout(role="server"), survivors)
    async with await connect() as watcher:
        await watcher.execute("INSERT INTO processes (id, seen_at, about) VALUES ('gone', 0, '{}')")

        async def seen() -> float:
            found = await watcher.execute("SELECT seen_at FROM processes WHERE id = 'me'")
            row = await found.fetchone()
            return float(row[0]) if row else 0.0

        await this.begin()
        try:
            dead.add("gone")
            await records.begun.wait()
            for _ in range(3):
                before = await seen()

                async def renewed(before: float = before) -> bool:
                    return await seen() > before

                await eventually(renewed, "another sign of life")
        finally:
            records.release.set()
            await this.end()
