"""Limits that are over when a test says so."""

from __future__ import annotations

import asyncio

import pytest

from pilothouse.types import limits
from tests.support.limits_in_hand import in_hand
from tests.support.waiting import PATIENCE


async def test_a_wait_under_a_limit_in_hand_ends_when_the_test_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = in_hand(monkeypatch, "WRITE_TIMEOUT", 0.001)

    async def written() -> None:
        async with asyncio.timeout(limits.WRITE_TIMEOUT):
            await asyncio.Event().wait()

    async def waited() -> int:
        never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done, _ = await asyncio.wait([never], timeout=limits.WRITE_TIMEOUT)
        return len(done)

    both = [asyncio.create_task(written()), asyncio.create_task(waited())]
    await limit.met(2)
    await asyncio.wait(both, timeout=0.02)
    assert not any(task.done() for task in both)
    limit.run_out()
    with pytest.raises(TimeoutError):
        await both[0]
    assert await both[1] == 0
    assert limit.running == 0


async def test_what_is_done_before_its_limit_does_not_meet_it(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = in_hand(monkeypatch, "WRITE_TIMEOUT")
    go = asyncio.Event()
    soon = [asyncio.create_task(asyncio.sleep(0)), asyncio.create_task(go.wait())]
    first, later = await asyncio.wait(soon, timeout=limits.WRITE_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
    assert (first, later) == ({soon[0]}, {soon[1]})
    go.set()
    done, _ = await asyncio.wait(soon, timeout=limits.WRITE_TIMEOUT)
    assert done == set(soon)
    async with asyncio.timeout(PATIENCE), asyncio.timeout(limits.WRITE_TIMEOUT):
        await asyncio.sleep(0)
        assert limit.running == 1
    assert limit.running == 0
