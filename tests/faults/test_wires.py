"""Faults of the network at random moments: every call ends, no call is lost, none is carried out twice."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any, Literal

import pytest

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.session import BadAnswer, Session, SessionOptions, connect
from pilothouse.mcp.client.transports.detection import channel_to
from pilothouse.mcp.client.transports.remote import Target
from tests.faults.chance import SECONDS, SEED, seeded
from tests.support.mcp_gateway import Brain, FaultProxy, OldGateway, Socket, Streamable
from tests.support.tiny_http import TinyHttp

Fault = Literal["none", "drop", "reset", "close"]
# How long a call may take while the line fails, and when it does not: only what hangs takes so long.
HURRIED = 1.0
UNHURRIED = 60.0
# Of the time for simulations; there are four of these. However short that is, some calls succeed and one fails.
SHARE = 1 / 24
# So many calls in a row without an answer, and whoever calls connects anew.
PATIENCE = 2
FAULTS: tuple[Fault, ...] = ("none", "none", "drop", "reset", "close")


class Caller:
    """Calls a tool again and again through a line that fails, and keeps what became of each call."""

    def __init__(self, url: str, brain: Brain, enough: int) -> None:
        self._url = url
        self._brain = brain
        self._enough = enough
        self._unanswered = 0
        self._session: Session | None = None
        self._number = 0
        self._unsent: list[int] = []
        self.right = 0
        self.failed = 0

    @property
    def has_seen_both(self) -> bool:
        """Return whether enough calls succeeded, and one did not."""
        return self.right >= self._enough and self.failed > 0

    async def call(self, within: float = HURRIED) -> None:
        """Make one call; reconnect first where the last connection is gone."""
        self._number += 1
        number = self._number
        try:
            async with asyncio.timeout(within):
                if self._session is None or self._session.closed.done() or self._unanswered >= PATIENCE:
                    await self.close()
                    options = SessionOptions(client_version="1", probe_timeout=within / 2, connect_timeout=2 * within)
                    target = Target(url=self._url, connect_timeout=2 * within)
                    self._session = await connect(channel_to(target), options)
                result: Any = await self._session.call_tool("echo", {"n": number})
        except ChannelError as error:
            self.failed += 1
            self._unsent += [] if error.sent else [number]
        except (BadAnswer, TimeoutError):
            self.failed += 1
            self._unanswered += 1
        else:
            self._unanswered = 0
            assert result["content"][0]["text"] == f'{{"n": {number}}}'
            self.right += 1
        assert self._times(number) <= 1, f"call {number} was carried out twice"
        assert not any(self._times(one) for one in self._unsent), "a call arrived that was said not to have"

    def _times(self, number: int) -> int:
        calls = (heard["params"] for heard in self._brain.heard if heard.get("method") == "tools/call")
        return sum(call["arguments"].get("n") == number for call in calls)

    async def close(self) -> None:
        """Close the connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


async def torment(port: int, path: str, brain: Brain, scheme: str = "http", enough: int = 1) -> None:
    """Call through a proxy that fails at random, then without faults once."""
    chance = random.Random(SEED)
    async with FaultProxy(port) as proxy:
        caller = Caller(f"{scheme}://127.0.0.1:{proxy.port}{path}", brain, enough)
        end = time.monotonic() + seeded(SHARE)
        while time.monotonic() < end or not caller.has_seen_both:
            proxy.fault = chance.choice(FAULTS)
            proxy.after = chance.randrange(0, 900)
            proxy.slice = chance.choice((None, None, 1, 7))
            await caller.call()
        proxy.fault, proxy.slice = "none", None
        # A connection that was dropped may have to be noticed first.
        await caller.close()
        before = caller.right
        await caller.call(UNHURRIED)
        assert caller.right == before + 1
        await caller.close()


@pytest.mark.case("F-16", "F-17", "F-18", "TST-05")
@pytest.mark.timeout(SECONDS + 2 * UNHURRIED)
@pytest.mark.parametrize("form", ["json", "events"])
async def test_streamable_http_under_fire(form: Any) -> None:
    place = Streamable(form=form, session="s", says=[], open_to=("server/discover",))
    async with TinyHttp(place) as server:
        await torment(server.port, "/mcp", place.brain, enough=6)


@pytest.mark.case("F-16", "F-17", "F-18", "CON-17")
@pytest.mark.timeout(SECONDS + 2 * UNHURRIED)
async def test_http_with_events_under_fire() -> None:
    place = OldGateway()
    async with TinyHttp(place) as server:
        await torment(server.port, "/sse", place.brain)


@pytest.mark.case("F-16", "F-17", "F-22")
@pytest.mark.timeout(SECONDS + 2 * UNHURRIED)
async def test_a_websocket_under_fire() -> None:
    place = Socket()
    async with place.running() as server:
        await torment(server.port, "/", place.brain, "ws")
