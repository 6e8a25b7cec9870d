"""The clock of a call: silence, progress, the cap, and a person who wants to wait."""

from __future__ import annotations

import asyncio
import time

import pytest

from pilothouse.agent.deadline import Deadline, aligned, call_times
from pilothouse.types.ports import CallTimes, ToolTimeouts
from tests.support.tools import ToolOf


@pytest.mark.case("MOD-24", "TMO-04", "TMO-05")
@pytest.mark.parametrize(
    ("tool", "window", "expected"),
    [(300.0, 4_000, 60.0), (300.0, 32_000, 160.0), (300.0, 1_000_000, 300.0), (900.0, 1_000_000, 600.0), (5.0, 1, 5.0)],
)
def test_a_tools_time_is_held_to_what_the_models_window_suggests(tool: float, window: int, expected: float) -> None:
    assert aligned(CallTimes(tool, tool), window) == CallTimes(expected, expected)


@pytest.mark.case("TMO-04")
def test_the_cap_of_a_tool_that_tells_its_progress_stays() -> None:
    assert aligned(CallTimes(30.0, 600.0), 4_000) == CallTimes(30.0, 600.0)
    assert aligned(CallTimes(120.0, 600.0), 4_000) == CallTimes(60.0, 600.0)


@pytest.mark.case("TMO-01", "TMO-03", "TMO-06")
def test_a_persons_word_about_times_wins_over_the_tools_own() -> None:
    built_in, served = ToolOf("file_operations", timeout=300.0), ToolOf("mine__dig", server="Mine", timeout=30.0)
    served.times = CallTimes(30.0, 600.0)
    said = ToolTimeouts(align_with_model=False, default=20.0, tools={"mine.dig": 90.0})
    assert call_times(built_in, {}, ToolTimeouts(align_with_model=False), 4_000) == CallTimes(300.0, 300.0)
    assert call_times(built_in, {}, said, 4_000) == CallTimes(20.0, 20.0)
    assert call_times(served, {}, ToolTimeouts(default=20.0), 4_000) == CallTimes(30.0, 600.0)
    assert call_times(served, {}, said, 4_000) == CallTimes(90.0, 600.0)
    assert call_times(served, {}, ToolTimeouts(tools={"mine__dig": 900.0}), 4_000) == CallTimes(60.0, 60.0)


TICK = 0.01


async def passed(seconds: float) -> None:
    """Let time pass: here it is what is tested."""
    await asyncio.sleep(seconds)


class Clocked:
    """A deadline, and when it expired."""

    def __init__(self, idle: float, total: float) -> None:
        self.began = asyncio.get_running_loop().time()
        self.expired: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.deadline = Deadline(CallTimes(idle, total), self.note)

    def note(self) -> None:
        self.expired.set_result(asyncio.get_running_loop().time() - self.began)

    async def after(self) -> float:
        async with asyncio.timeout(5):
            return await self.expired


async def test_silence_ends_a_call() -> None:
    began = time.time()
    clocked = Clocked(0.03, 9.0)
    assert began + 0.02 < clocked.deadline.at < time.time() + 0.04
    assert await clocked.after() >= 0.03
    assert clocked.deadline.allowed == 0.03


async def test_progress_starts_the_clock_for_silence_anew_up_to_the_cap() -> None:
    clocked = Clocked(0.5, 0.7)
    while not clocked.expired.done():
        clocked.deadline.restart()
        await asyncio.sleep(TICK)
    assert await clocked.after() >= 0.7
    assert clocked.deadline.allowed == 0.7


async def test_a_person_who_keeps_waiting_goes_beyond_the_cap() -> None:
    clocked = Clocked(0.5, 0.5)
    await passed(3 * TICK)
    clocked.deadline.extend()
    assert await clocked.after() >= 0.53


async def test_a_stopped_clock_never_expires() -> None:
    clocked = Clocked(0.01, 0.01)
    clocked.deadline.stop()
    await passed(3 * TICK)
    assert not clocked.expired.done()
