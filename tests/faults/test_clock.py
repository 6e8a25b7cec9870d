"""Clocks jump: the order is by number, and nobody is taken for dead because of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from pilothouse.queue.liveness import Liveness
from pilothouse.types import limits
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.wiring import open_host
from tests.support.chats import ME, Chat, open_chat
from tests.support.waiting import eventually

DAY = 86_400.0
# So often each process looks after the other between two jumps.
LOOKS = 5
# A generous timeout: only a hang exceeds it.
AMPLE = 60.0
SLOW = [{"text": "one two three four", "pieces": 4, "every": 0.1}]


class Clock:
    """The wall clock, which a test can set; time itself goes on as it does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shift = 0.0
        real, real_ns = time.time, time.time_ns
        monkeypatch.setattr(time, "time", lambda: real() + self.shift)
        monkeypatch.setattr(time, "time_ns", lambda: real_ns() + int(self.shift * 1e9))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.case("F-48")
async def test_items_stay_in_order_and_sessions_alive_when_the_clock_jumps(home: Path, clock: Clock) -> None:
    async with open_chat(home, ["Fine."]) as chat:
        session = await chat.api.sessions.create(ME)
        for number, shift in enumerate((0.0, DAY, -DAY, -DAY - 1, DAY + 3600)):
            clock.shift = shift
            assert (await chat.say(f"message {number}")).status == "completed"
            assert await chat.api.sessions.owner_of(session) == LOCAL_OWNER
        positions = [item.position for item in await chat.items()]
        assert positions == sorted(positions)
        assert await chat.texts("user_message") == [f"message {number}" for number in range(5)]


@pytest.mark.case("F-48")
async def test_messages_are_answered_in_the_order_they_came_even_if_the_clock_went_back(
    home: Path, clock: Clock
) -> None:
    async with open_chat(home, [SLOW, ["Next."]]) as chat:
        first = await chat.send("first")
        await chat.until_streaming("one")
        second = await chat.send("second")
        clock.shift = -DAY
        third = await chat.send("third")
        for sent in (first, second, third):
            assert (await chat.settled(sent.run_id)).status == "completed"
        answered = {item.run_id: item.position for item in await chat.items("response")}
        assert answered[first.run_id] < answered[second.run_id] < answered[third.run_id]


@pytest.mark.case("F-48")
async def test_what_was_accepted_before_the_clock_went_back_is_still_answered_after_a_restart(
    home: Path, clock: Clock
) -> None:
    async with open_chat(home, [SLOW, ["Next."]], at_rest=False) as chat:
        await chat.send("first")
        await chat.until_streaming("one")
        queued = await chat.send("second")
    clock.shift = -DAY
    async with open_chat(home) as again:
        before = Chat(again.host, chat.id, chat.script)
        assert (await before.settled(queued.run_id)).status == "completed"


@pytest.mark.case("F-48")
async def test_a_countdown_does_not_stretch_when_the_clock_goes_back(home: Path, clock: Clock) -> None:
    async with open_chat(home, [[{"fault": 429, "retryAfter": 0.3, "times": 1}, "Here."]]) as chat:
        sent = await chat.send()
        await eventually(lambda: chat.items("notice"), "the notice")
        clock.shift = -DAY
        assert (await chat.settled(sent.run_id)).status == "completed"


def looks_of(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each process has looked after the others, from now on."""
    looks: Counter[str] = Counter()
    look = Liveness._look

    async def counted(self: Liveness, others: Mapping[str, float | None]) -> None:
        await look(self, others)
        looks[self._process] += bool(others)

    monkeypatch.setattr(Liveness, "_look", counted)
    return looks


@pytest.mark.case("F-48")
async def test_a_living_process_is_not_taken_for_dead_when_the_clock_jumps(
    home: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, postgres_url: str
) -> None:
    monkeypatch.setattr(limits, "LEASE_RENEW", 0.05)
    # Far less than a jump; no machine has so much else to do that a sign of life takes as long.
    monkeypatch.setattr(limits, "LEASE_DEAD", 3600.0)
    looks = looks_of(monkeypatch)
    go = home.parent / "go"
    words = [{"text": "one two three four", "pieces": 4, "every": 600, "until": str(go)}]
    async with (
        open_chat(home, [words], database_url=postgres_url) as chat,
        open_host(home.parent / "other", postgres_url, role="server"),
    ):
        sent = await chat.send()
        await chat.until_streaming("one")
        for shift in (DAY, -DAY, 0.0):
            clock.shift = shift
            before = looks.copy()

            async def all_looked(before: Counter[str] = before) -> bool:
                return len(looks) == 2 and all(looks[process] >= before[process] + LOOKS for process in looks)

            await eventually(all_looked, "each process to look after the other", AMPLE)
        go.touch()
        run = await chat.settled(sent.run_id)
        assert (run.status, run.epoch, run.recoveries) == ("completed", 1, 0)
