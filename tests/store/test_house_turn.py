"""Of several processes on one PostgreSQL one keeps house, and another goes on when it dies."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest

from pilothouse.store.house_turn import SharedHouseTurn
from pilothouse.store.opening import open_store
from pilothouse.store.store import Store
from pilothouse.types import limits
from pilothouse.types.retention import Retention
from pilothouse.wiring.housekeeping import keep_tidy
from tests.support.waiting import eventually


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HOUSE_LOOK", 0.05)
    monkeypatch.setattr(limits, "PACK_EVERY", 0.05)


class Houses:
    """Processes that keep house on one database, and what each of them did."""

    def __init__(self, stack: AsyncExitStack, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._stack = stack
        self._folder = folder
        self._url = url
        self._monkeypatch = monkeypatch
        self.did: Counter[tuple[str, str]] = Counter()

    async def begin(self, name: str) -> AsyncExitStack:
        """Begin one; closing what is returned ends it."""
        opened = open_store(self._folder / name, self._url, lambda *_: None)
        self._stack.push_async_callback(opened.close)
        for what in ("tidy", "pack"):
            self._count(opened.store, name, what)
        living = await self._stack.enter_async_context(AsyncExitStack())
        await keep_tidy(living, opened.store, Retention, SharedHouseTurn(opened.database))
        return living

    def _count(self, store: Store, name: str, what: str) -> None:
        done = getattr(store, what)

        async def counted() -> object:
            self.did[name, what] += 1
            return await done()

        self._monkeypatch.setattr(store, what, counted)

    async def until_done(self, name: str, what: str, times: int) -> None:
        """Wait until one of them did something so many times."""

        async def enough() -> bool:
            return self.did[name, what] >= times

        await eventually(enough, f"{name} to {what}")


async def test_one_of_several_keeps_house_and_the_day_is_tidied_once(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        houses = Houses(stack, tmp_path, postgres_url, monkeypatch)
        first = await houses.begin("first")
        await houses.until_done("first", "tidy", 1)
        await houses.begin("second")
        await houses.until_done("first", "pack", houses.did["first", "pack"] + 10)
        assert houses.did["second", "pack"] == 0
        # One that ends says so, and what was done today is not done again.
        await first.aclose()
        await houses.until_done("second", "pack", 3)
        assert [houses.did[name, "tidy"] for name in ("first", "second")] == [1, 0]


async def test_a_turn_that_is_taken_while_its_process_ends_is_given_back(tmp_path: Path, postgres_url: str) -> None:
    async with AsyncExitStack() as stack:
        ending, next_one = (open_store(tmp_path / name, postgres_url, lambda *_: None) for name in ("ending", "next"))
        for opened in (ending, next_one):
            stack.push_async_callback(opened.close)
        turn = SharedHouseTurn(ending.database)
        with psycopg.connect(postgres_url) as connection:
            connection.execute("LOCK TABLE shared_settings")
            taking = asyncio.create_task(turn.is_mine())
            await until_blocked(postgres_url)
            taking.cancel()
            await asyncio.wait([taking])
            giving = asyncio.create_task(turn.give_back())
        await giving
        assert await SharedHouseTurn(next_one.database).is_mine()


async def until_blocked(url: str) -> None:
    """Wait until some statement waits for a lock."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:

        async def is_blocked() -> bool:
            return (await connection.execute("SELECT 1 FROM pg_locks WHERE NOT granted")).rowcount > 0

        await eventually(is_blocked, "a statement to wait for a lock")


async def test_who_dies_in_the_middle_is_followed_by_another_who_does_it_again(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        houses = Houses(stack, tmp_path, postgres_url, monkeypatch)
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            opened = open_store(tmp_path / "dead", postgres_url, lambda *_: None)
            stack.push_async_callback(opened.close)
            # It had the turn, had tidied nothing yet, and says nothing any more.
            assert await SharedHouseTurn(opened.database).is_mine()
            await houses.begin("next")
            other = SharedHouseTurn(opened.database)
            assert not await other.is_mine()
            assert houses.did.total() == 0
            held = "UPDATE shared_settings SET updated_at = updated_at - %s WHERE name = 'house turn'"
            connection.execute(held, (limits.HOUSE_HELD + 1,))
            await houses.until_done("next", "tidy", 1)
            await houses.until_done("next", "pack", 2)
