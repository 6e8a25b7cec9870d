"""Servers that are asked before they can hear, or go away when asked: the era they speak is found all the same."""

from __future__ import annotations

import pytest

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.types.host import LOCAL_OWNER as ME
from tests.mcp.client.scripted_sessions import open_session
from tests.mcp.conftest import Scripted
from tests.support.mcp_hosting import McpHost

pytestmark = pytest.mark.slow


@pytest.mark.case("PRC-07")
@pytest.mark.parametrize(("options", "era"), [(("--era", "modern"), "modern"), ((), "handshake")])
async def test_a_server_that_starts_slowly_is_understood_in_its_own_era(options: tuple[str, ...], era: str) -> None:
    async with open_session(*options, "--delay", 1, probe_timeout=0.1) as talked:
        assert talked.session.facts.era == era
        assert await talked.say("awake") == "awake"


async def test_a_server_that_is_said_to_be_modern_has_time_to_start() -> None:
    async with open_session("--era", "modern", "--delay", 1, probe_timeout=0.1, era="modern") as talked:
        assert await talked.say("awake") == "awake"
    with pytest.raises(ChannelError, match="newest protocol"):
        async with open_session(era="modern"):
            raise AssertionError("it was let in")


async def test_a_server_that_refuses_both_eras_says_why() -> None:
    with pytest.raises(ChannelError, match="speaks version"):
        async with open_session("--version", "1999-01-01", "--delay", 0.3, probe_timeout=0.1):
            raise AssertionError("it was let in")


async def test_a_server_that_exits_and_says_what_it_lacks_is_started_once(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted("--start", "exit", "--code", "7", "--say", "DATABASE_URL is required"))
    view = await hosted.until("Scripted", "error")
    assert "needs its" in view.last_error
    log = [line.text for line in (await hosted.admin.log(ME, "Scripted")).lines]
    assert sum(line.startswith("Starting ") for line in log) == 1


async def test_a_server_that_exits_at_a_question_it_does_not_know_is_started_again(
    hosted: McpHost, scripted: Scripted
) -> None:
    await hosted.add(scripted("--start", "probe-exit", "--say", "Serving."))
    await hosted.until("Scripted", "connected")
    log = [line.text for line in (await hosted.admin.log(ME, "Scripted")).lines]
    assert sum(line.startswith("Starting ") for line in log) == 2
