"""Something of ours or of a tool holds the event loop: the log says what, and the health says that it happened."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pilothouse.types import limits
from pilothouse.web import watchdog
from tests.support.waiting import eventually
from tests.web.servers import run_server


def a_tool_that_blocks(seconds: float) -> None:
    time.sleep(seconds)


@pytest.mark.case("F-51")
@pytest.mark.slow
async def test_a_held_up_loop_is_told_with_its_stack_and_the_server_says_that_it_is_degraded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Longer than starting holds it up, on a machine that has much else to do.
    monkeypatch.setattr(limits, "BLOCKED_LOOP", 1.0)
    async with run_server(tmp_path) as server:
        assert (await server.http.get("/api/health")).json() == {"status": "up"}
        a_tool_that_blocks(3.0)

        async def over() -> bool:
            return "everything had to wait for" in caplog.text

        await eventually(over, "the watchdog to see the loop move")
        assert "a_tool_that_blocks" in caplog.text
        assert (await server.http.get("/api/health")).json() == {"status": "degraded"}
        monkeypatch.setattr(limits, "DEGRADED_FOR", 0.0)
        assert (await server.http.get("/api/health")).json() == {"status": "up"}


@pytest.mark.case("F-51")
@pytest.mark.slow
async def test_a_loop_that_moves_is_left_in_peace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Longer than a machine that has much else to do keeps any of its programs from moving.
    monkeypatch.setattr(limits, "BLOCKED_LOOP", 2.0)
    async with run_server(tmp_path) as server:

        async def has_looked() -> bool:
            return watchdog.lag() > 0

        await eventually(has_looked, "the watchdog to look")
        assert (await server.http.get("/api/health")).json() == {"status": "up"}
        assert "nothing moves" not in caplog.text
