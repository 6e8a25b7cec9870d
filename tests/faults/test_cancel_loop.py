"""Stop, pressed at every point of a run: it ends at once, everything in it has an end, the next message works.

At some of the points, others each time; TEST_LONG=1 takes every one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from pilothouse.timeline.feed import Feed
from pilothouse.types.api import NewConversation, NewMessage
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import RunUpdated, event_decoder
from pilothouse.types.feed import FeedEvent
from pilothouse.types.items import CLOSED
from pilothouse.types.runs import ENDED, Run
from pilothouse.wiring import OpenHost, open_host
from tests.faults import chance
from tests.faults.mine import FILE, Mine, dug
from tests.faults.scenario import write_script
from tests.support.tools import make_known

OWNER = "local"
# The row's own bound: cancelled is visible within two seconds. Counted in turns of the loop's own clock, which stands
# still with the rest of the process where the machine has much else to do.
TICK = 0.05
VISIBLE = 2.0 / TICK
# A generous timeout: only a hang exceeds it.
AMPLE = 60.0
# The first events come before it can be stopped. A run has at least 40, and not the last of these.
EVENTS = range(4, 200 if chance.LONG else 41)
NEVER = 200
# Of those, and of the moments between, that are tried where there is no time for all.
SOME = 12


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


async def ended(host: OpenHost, conversation_id: str, run_id: str, within: float) -> Run:
    """Follow the feed until the run has ended."""
    async with (
        asyncio.timeout(within),
        aclosing(await host.api.conversations.events(OWNER, conversation_id, 0)) as feed,
    ):
        async for batch in feed:
            for event in (event_decoder.decode(event.json) for event in batch):
                if isinstance(event, RunUpdated) and event.run.id == run_id and event.run.status in ENDED:
                    return event.run
    raise AssertionError("the feed ended before the run")


async def ticking(ticks: list[None]) -> None:
    """Count turns of the loop's clock."""
    while True:
        await asyncio.sleep(TICK)
        ticks.append(None)


class CancelAt:
    """Presses Stop while the event with a given number is being published."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.host: OpenHost | None = None
        self.run_id = ""
        self.number = 0
        self.pressed: asyncio.Task[Run] | None = None
        publish = Feed.publish

        def pressing(feed: Feed, conversation_id: str, events: Sequence[FeedEvent]) -> None:
            publish(feed, conversation_id, events)
            if self.pressed is None and self.run_id and any(event.seq >= self.number for event in events):
                assert self.host is not None
                self.pressed = asyncio.ensure_future(self.host.api.runs.cancel(OWNER, self.run_id))

        monkeypatch.setattr(Feed, "publish", pressing)

    def arm(self, host: OpenHost, run_id: str, number: int) -> None:
        self.host, self.run_id, self.number, self.pressed = host, run_id, number, None

    async def post(self, host: OpenHost, conversation_id: str, message: NewMessage, number: int) -> Run | None:
        """Send a message and press Stop at this event of its run; return how it ended, None where it ended before."""
        self.arm(host, "", 0)
        accepted = await host.api.runs.post_message(OWNER, conversation_id, message)
        self.arm(host, accepted.run_id, number)
        run = await ended(host, conversation_id, accepted.run_id, AMPLE)
        if self.pressed is None:
            return None
        await self.pressed
        assert run.status in ("cancelled", "completed")
        await everything_has_an_end(host, conversation_id)
        return run


def going(model: str) -> NewMessage:
    return NewMessage(text="Go", model_id=model, allow=("mine.*",))


def open_mine(host: OpenHost, home: Path) -> None:
    """Let the host's runs use a server's tool with an effect."""
    parts = host.executor._parts
    mine = Mine(parts.toolbox, home / FILE)
    host.executor._parts = msgspec.structs.replace(parts, toolbox=mine)
    make_known(host, mine.tool)


@pytest.mark.case("F-52")
async def test_stop_at_every_event_of_a_run_ends_it_and_the_next_message_works(
    home: Path, tmp_path: Path, database_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = f"scripted:{write_script(tmp_path, tool='mine__dig')}"
    stop = CancelAt(monkeypatch)
    async with open_host(home, database_url) as host:
        open_mine(host, home)
        cancelled = 0
        for number in (*chance.some(EVENTS, SOME, str(database_url is None)), NEVER):
            conversation = await host.api.conversations.create(OWNER, NewConversation())
            run = await stop.post(host, conversation.id, going(model), number)
            if run is None:
                break
            cancelled += run.status == "cancelled"
            stop.arm(host, "", 0)
            again = await host.api.runs.post_message(OWNER, conversation.id, going(model))
            assert (await ended(host, conversation.id, again.run_id, AMPLE)).status == "completed"
            await everything_has_an_end(host, conversation.id)
        assert number > 40
        assert cancelled > (30 if chance.LONG else 0)
        assert len(set(dug(home))) == len(dug(home)) > (40 if chance.LONG else SOME)


@pytest.mark.case("F-52")
async def test_stop_at_any_moment_between_events_ends_the_run_in_time(home: Path, tmp_path: Path) -> None:
    model = f"scripted:{write_script(tmp_path, tool='mine__dig')}"
    async with open_host(home) as host:
        open_mine(host, home)
        for turns in chance.some(range(0, 600, 7), SOME, "between"):
            conversation = await host.api.conversations.create(OWNER, NewConversation())
            accepted = await host.api.runs.post_message(OWNER, conversation.id, going(model))
            for _ in range(turns):
                await asyncio.sleep(0)
            ticks: list[None] = []
            clock = asyncio.create_task(ticking(ticks))
            await host.api.runs.cancel(OWNER, accepted.run_id)
            run = await ended(host, conversation.id, accepted.run_id, AMPLE)
            clock.cancel()
            assert len(ticks) <= VISIBLE
            assert run.status in ("cancelled", "completed")
            await everything_has_an_end(host, conversation.id)


async def everything_has_an_end(host: OpenHost, conversation_id: str) -> None:
    snapshot = await host.api.conversations.get(OWNER, conversation_id, limit=500)
    assert [item for item in snapshot.items if item.status not in CLOSED] == []
    calls = [item for item in snapshot.items if item.kind == "tool_call" and not item.raw.get("cutOff")]
    assert all(item.text for item in calls), "a call without a result"


async def test_a_run_that_has_ended_stays_as_it_ended(home: Path, tmp_path: Path) -> None:
    model = f"scripted:{write_script(tmp_path)}"
    async with open_host(home) as host:
        conversation = await host.api.conversations.create(OWNER, NewConversation())
        accepted = await host.api.runs.post_message(OWNER, conversation.id, NewMessage(text="Go", model_id=model))
        run = await ended(host, conversation.id, accepted.run_id, AMPLE)
        assert run.status == "completed"
        assert (await host.api.runs.cancel(OWNER, accepted.run_id)).status == "completed"
        with pytest.raises(PilothouseError):
            await host.api.runs.resume(OWNER, accepted.run_id)
