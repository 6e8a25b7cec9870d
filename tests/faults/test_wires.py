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
from tests.faults.chance import SEED, seeded
from tests.support.mcp_gateway import Brain, FaultProxy, OldGateway, Socket, Streamable, serving
from tests.support.tiny_http import TinyHttp

Fault = Literal["none", "drop", "reset", "close"]
OPTIONS = SessionOptions(client_version="1", probe_timeout=0.5, connect_timeout=2.0)
# Of the time for simulations; there are four of these.
SHARE = 1 / 24
FAULTS: tuple[Fault, ...] = ("none", "none", "drop", "reset", "close")


class Caller:
    """Calls a tool again and again through a line that fails, and keeps what became of each call."""

    def __init__(self, url: str, brain: Brain) -> None:
        self._target = Target(url=url, connect_timeout=2.0)
        self._brain = brain
        self._session: Session | None = None
        self._number = 0
        self._unsent: list[int] = []
        self.right = 0
        self.failed = 0

    async def call(self) -> None:
        """Make one call; reconnect first where the last connection is gone."""
        self._number += 1
        number = self._number
        try:
            async with asyncio.timeout(1.0):
                if self._session is None or self._session.closed.done():
                    await self.close()
                    self._session = await connect(channel_to(self._target), OPTIONS)
                result: Any = await self._session.call_tool("echo", {"n": number})
        except ChannelError as error:
            self.failed += 1
            self._unsent += [] if error.sent else [number]
        except (BadAnswer, TimeoutError):
            self.failed += 1
        else:
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


async def torment(port: int, path: str, brain: Brain, scheme: str = "http") -> Caller:
    """Call through a proxy that fails at random, then without faults once."""
    chance = random.Random(SEED)
    async with FaultProxy(port) as proxy:
        caller = Caller(f"{scheme}://127.0.0.1:{proxy.port}{path}", brain)
        end = time.monotonic() + seeded(SHARE)
        while time.monotonic() < end:
            proxy.fault = chance.choice(FAULTS)
            proxy.after = chance.randrange(0, 900)
            proxy.slice = chance.choice((None, None, 1, 7))
            await caller.call()
        proxy.fault, proxy.slice = "none", None
        # A connection that was dropped may have to be noticed first.
        await caller.close()
        before = caller.right
        await caller.call()
        assert caller.right == before + 1
        await caller.close()
    return caller


@pytest.mark.case("F-16", "F-17", "F-18", "TST-05")
@pytest.mark.parametrize("form", ["json", "events"])
async def test_streamable_http_under_fire(form: Any) -> None:
    place = Streamable(form=form, session="s", says=[], open_to=("server/discover",))
    async with TinyHttp(place) as server:
        caller = await torment(server.port, "/mcp", place.brain)
    assert caller.right > 5
    assert caller.failed > 0


@pytest.mark.case("F-16", "F-17", "F-18", "CON-17")
async def test_http_with_events_under_fire() -> None:
    place = OldGateway()
    async with serving(place) as server:
        caller = await torment(server.port, "/sse", place.brain)
    assert caller.right > 0
    assert caller.failed > 0


@pytest.mark.case("F-16", "F-17", "F-22")
async def test_a_websocket_under_fire() -> None:
    place = Socket()
    async with place.running() as server:
        caller = await torment(server.port, "/", place.brain, "ws")
    assert caller.right > 0
    assert caller.failed > 0
