"""Something of ours or of a tool holds the event loop: the log says what, and the health says that it happened."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.web import watchdog
from tests.support.in_process_server import run_server
from tests.support.waiting import eventually, until

# A generous timeout: only a hang exceeds it.
AMPLE = 60.0
LOOKS = 5


def a_tool_that_blocks(begin: threading.Event, caplog: pytest.LogCaptureFixture) -> None:
    """Let the watchdog begin, and hold the loop up until it has said so."""
    begin.set()
    until(lambda: "a_tool_that_blocks" in caplog.text, "the watchdog to tell what holds the loop up", AMPLE)


@pytest.mark.case("F-51")
@pytest.mark.slow
async def test_a_held_up_loop_is_told_with_its_stack_and_the_server_says_that_it_is_degraded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(limits, "BLOCKED_LOOP", 0.1)
    monkeypatch.setattr(limits, "DEGRADED_FOR", 3600.0)
    begin, watch = threading.Event(), watchdog._watch

    def watch_later(*watched: Any) -> None:
        # Starting holds the loop up, too, for as long as the machine likes.
        if begin.wait(AMPLE):
            watch(*watched)

    monkeypatch.setattr(watchdog, "_watch", watch_later)
    async with run_server(tmp_path) as server:
        assert (await server.http.get("/api/health")).json() == {"status": "up"}
        a_tool_that_blocks(begin, caplog)

        async def over() -> bool:
            return "everything had to wait for" in caplog.text

        await eventually(over, "the watchdog to see the loop move", AMPLE)
        assert (await server.http.get("/api/health")).json() == {"status": "degraded"}
        monkeypatch.setattr(limits, "DEGRADED_FOR", 0.0)
        assert (await server.http.get("/api/health")).json() == {"status": "up"}


@pytest.mark.case("F-51")
@pytest.mark.slow
async def test_a_loop_that_moves_is_left_in_peace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(limits, "BLOCKED_LOOP", 0.01)
    loop, looks = asyncio.get_running_loop(), 0
    give = loop.call_soon_threadsafe

    def at_once(callback: Callable[..., object], *arguments: Any, **more: Any) -> object:
        """Do at once what the watchdog gives the loop: however long the machine lets it wait, this one moves."""
        nonlocal looks
        if callback is not watchdog._moved:
            return give(callback, *arguments, **more)
        looks += 1
        return callback(*arguments)

    monkeypatch.setattr(loop, "call_soon_threadsafe", at_once)
    async with run_server(tmp_path) as server:

        async def has_looked() -> bool:
            return looks > LOOKS

        await eventually(has_looked, "the watchdog to look", AMPLE)
        assert watchdog.lag() > 0
        assert (await server.http.get("/api/health")).json() == {"status": "up"}
        assert "nothing moves" not in caplog.text
