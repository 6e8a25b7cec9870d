"""The clock of a call: its time, a person who wants to wait, work that has not begun, and silence."""

from __future__ import annotations

import asyncio
import time

import pytest

from pilothouse.agent.deadline import Deadline, SilenceTimer, aligned, call_times
from pilothouse.types.ports import CallTimes
from pilothouse.types.timeouts import ToolTimeouts
from tests.support.tools import ToolOf


@pytest.mark.case("MOD-24", "TMO-04", "TMO-05")
@pytest.mark.parametrize(
    ("tool", "window", "expected"),
    [(300.0, 4_000, 60.0), (300.0, 32_000, 160.0), (300.0, 1_000_000, 300.0), (900.0, 1_000_000, 600.0), (5.0, 1, 5.0)],
)
def test_a_built_in_tools_time_is_held_to_what_the_models_window_suggests(
    tool: float, window: int, expected: float
) -> None:
    assert aligned(tool, window) == expected
    assert call_times(ToolOf("look", timeout=tool), {}, ToolTimeouts(), window) == CallTimes(expected)


@pytest.mark.case("TMO-04")
def test_the_time_of_a_servers_tool_is_its_own() -> None:
    served = ToolOf("mine__dig", server="Mine")
    served.times = CallTimes(600.0, 30.0)
    assert call_times(served, {}, ToolTimeouts(), 4_000) == CallTimes(600.0, 30.0)


@pytest.mark.case("TMO-01", "TMO-03", "TMO-06")
def test_a_persons_word_about_times_wins_over_the_tools_own() -> None:
    built_in, served = ToolOf("file_operations", timeout=300.0), ToolOf("mine__dig", server="Mine")
    served.times = CallTimes(600.0, 30.0)
    said = ToolTimeouts(align_with_model=False, default=20.0, tools={"mine.dig": 90.0})
    assert call_times(built_in, {}, ToolTimeouts(align_with_model=False), 4_000) == CallTimes(300.0)
    assert call_times(built_in, {}, said, 4_000) == CallTimes(20.0)
    assert call_times(served, {}, ToolTimeouts(default=20.0), 4_000) == CallTimes(600.0, 30.0)
    assert call_times(served, {}, said, 4_000) == CallTimes(90.0, 30.0)
    assert call_times(served, {}, ToolTimeouts(tools={"mine__dig": 900.0}), 4_000) == CallTimes(900.0, 30.0)


TICK = 0.01


async def passed(seconds: float) -> None:
    """Let time pass: here it is what is tested."""
    await asyncio.sleep(seconds)


class Clocked:
    """A deadline, and when it expired."""

    def __init__(self, seconds: float) -> None:
        self.began = asyncio.get_running_loop().time()
        self.expired: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.deadline = Deadline(seconds, self.note)

    def note(self) -> None:
        self.expired.set_result(asyncio.get_running_loop().time() - self.began)

    async def after(self) -> float:
        async with asyncio.timeout(5):
            return await self.expired


async def test_a_call_ends_when_its_time_is_over() -> None:
    began = time.time()
    clocked = Clocked(0.03)
    assert clocked.deadline.at is not None
    assert began + 0.02 < clocked.deadline.at < time.time() + 0.04
    assert await clocked.after() >= 0.03
    assert clocked.deadline.allowed == 0.03


@pytest.mark.slow
async def test_a_person_who_keeps_waiting_gives_all_of_the_time_once_more() -> None:
    clocked = Clocked(0.5)
    await passed(3 * TICK)
    clocked.deadline.extend()
    assert await clocked.after() >= 0.53
    assert clocked.deadline.allowed >= 0.5


async def test_the_time_of_work_that_has_not_begun_does_not_run() -> None:
    clocked = Clocked(0.03)
    clocked.deadline.stop()
    assert clocked.deadline.at is None
    await passed(6 * TICK)
    assert not clocked.expired.done()
    clocked.deadline.begin()
    assert await clocked.after() >= 0.09


async def test_a_stopped_clock_never_expires() -> None:
    clocked = Clocked(0.01)
    clocked.deadline.stop()
    await passed(3 * TICK)
    assert not clocked.expired.done()


async def test_silence_is_told_once_and_ends_with_the_next_sign() -> None:
    told: asyncio.Queue[float | None] = asyncio.Queue()
    silence = SilenceTimer(0.05, told.put_nowait)
    began = time.time()
    silence.heard()
    heard = time.time()
    async with asyncio.timeout(5):
        since = await told.get()
        assert since is not None
        # It is reckoned from two clocks, and told when all of the silence has passed.
        assert began - 0.04 < since < heard + 0.04
        silence.heard()
        assert await told.get() is None
        # It is told anew of the next one, until a person says that they wait.
        assert await told.get() is not None
    silence.accept()
    assert told.get_nowait() is None
    await passed(0.1)
    assert told.empty()
    silence.stop()


async def test_signs_keep_silence_from_being_told() -> None:
    told: list[float | None] = []
    silence = SilenceTimer(0.2, told.append)
    for _ in range(30):
        silence.heard()
        await passed(TICK)
    silence.stop()
    assert told == []
