"""How long things may take when nobody said otherwise, and who may say otherwise."""

from __future__ import annotations

import pytest

from pilothouse.agent.deadline import call_times
from pilothouse.tools.think import Think
from pilothouse.types import limits
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.ports import CallTimes, Tool, ToolRequest
from pilothouse.types.servers import ServerInput, ToolTimes
from pilothouse.types.timeouts import ToolTimeouts
from tests.mcp.conftest import Scripted
from tests.support.mcp_gateway import forever
from tests.support.mcp_hosting import McpHost
from tests.support.tiny_http import Answer, TinyHttp
from tests.support.tools import ToolOf

WINDOW = 1_000_000
FREELY = ToolTimeouts(align_with_model=False)


@pytest.mark.case("F-02", "F-03", "F-07", "F-11", "F-12", "F-13", "F-14", "F-15", "F-20", "F-22", "F-24", "TOOL-08")
def test_the_times_and_bounds_of_servers_are_those_that_were_promised() -> None:
    assert limits.LAST_WORDS == 20
    assert (limits.MCP_CONNECT, limits.STDIO_WRITE, limits.CONNECT_TIMEOUT) == (30, 10, 10)
    # The longest line that is taken has room for a result of 50 MB.
    assert limits.STDIO_LINE_BYTES == limits.MCP_MESSAGE_BYTES == 64 * 1024 * 1024
    assert limits.SERVER_LOG_BYTES == 1024 * 1024
    # Asked twice, each time with this much patience, a server is gone within five seconds.
    assert 2 * limits.PROCESS_GRACE <= 5
    assert len(limits.LOCAL_BACKOFF) == 3
    assert limits.SERVER_STARTS == 8
    assert limits.STREAM_RETRY_MIN == 0.1
    # A ping, and as long again for its answer.
    assert 2 * limits.SOCKET_PING == 30
    assert (limits.LIST_TOOLS, limits.LIST_PAGES, limits.LIST_BYTES) == (2_000, 100, 4 * 1024 * 1024)


@pytest.mark.case("HND-05")
async def test_a_server_elsewhere_that_does_not_shake_hands_is_given_up_after_a_while(
    hosted: McpHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limits.MCP_HANDSHAKE == 20.0
    monkeypatch.setattr(limits, "MCP_HANDSHAKE", 0.3)
    silent = Answer(200, b"", {"Content-Type": "text/event-stream"}, stream=forever())
    async with TinyHttp(lambda _request: silent) as server:
        await hosted.add(ServerInput(name="Far", url=f"{server.url}/mcp", wire="streamable"))
        tested = await hosted.admin.test(ME, "Far")
    assert not tested.ok
    assert "within 0.3 s" in tested.message


@pytest.mark.case("TMO-02", "TMO-11", "PRF-03")
async def test_a_servers_tool_has_ten_minutes_whatever_the_models_window(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted())
    tool = (await hosted.tools_when_known("scripted.echo"))["scripted.echo"]
    assert limits.NO_SIGN == 30
    for window in (WINDOW, 4_000):
        assert call_times(tool, {}, ToolTimeouts(), window) == CallTimes(600.0, limits.NO_SIGN)


@pytest.mark.case("TMO-02")
async def test_a_server_and_each_of_its_tools_may_have_other_times(hosted: McpHost, scripted: Scripted) -> None:
    own = {"sleep": ToolTimes(total=900), "echo": ToolTimes()}
    await hosted.add(scripted(times=ToolTimes(total=300), tool_times=own))
    tools = await hosted.tools_when_known("scripted.echo")
    times = {
        name: call_times(tools[f"scripted.{name}"], {}, ToolTimeouts(), 4_000).total
        for name in ("fail", "sleep", "echo")
    }
    assert times == {"fail": 300, "sleep": 900, "echo": 300}


@pytest.mark.case("TMO-02")
def test_a_built_in_tool_has_five_minutes() -> None:
    assert call_times(Think(), {}, FREELY, WINDOW) == CallTimes(300.0)
    named = ToolTimeouts(align_with_model=False, default=60, tools={"look": 7})
    assert call_times(Think(), {}, named, WINDOW).total == 60
    assert call_times(ToolOf("look"), {}, named, WINDOW).total == 7


async def test_of_the_built_in_tools_only_those_that_are_there_are_offered(hosted: McpHost) -> None:
    offered = [tool.spec.name for tool in (await hosted.offered(ToolRequest("c"))).tools]
    assert offered == ["think"]
    more: list[Tool] = [ToolOf("image_generation"), ToolOf("web_operations"), Think()]
    names = [tool.spec.name for tool in (await hosted.offered(ToolRequest("c"), more)).tools]
    assert names == ["think", "web_operations", "image_generation"]
