"""What a call of a server's tool touches: anything, unless the person says otherwise."""

from __future__ import annotations

import pytest

from pilothouse.types.access import Access
from pilothouse.types.ports import Tool
from pilothouse.types.servers import ServerPatch
from tests.mcp.conftest import Scripted
from tests.support.mcp_hosting import Hosted, context


async def touched(tool: Tool) -> Access:
    access = await tool.access({"text": "hello"}, context())
    assert isinstance(access, Access)
    return access


@pytest.mark.case("EXFIL-02", "TOOL-06")
async def test_a_servers_tool_may_do_anything_and_sends_what_it_is_told(hosted: Hosted, scripted: Scripted) -> None:
    await hosted.add(scripted())
    tools = await hosted.tools_when_known("scripted.echo")
    for tool in tools.values():
        if tool.server:
            access = await touched(tool)
            assert access.effects == tool.effects == {"reads", "writes", "runs", "sends"}
            assert (access.destination, access.source) == (tool.server, f"server:{tool.server}")
            assert access.brings == {"private", "untrusted"}
            assert access.payload_bytes == len('{"text":"hello"}')


@pytest.mark.case("EXFIL-02")
async def test_only_the_persons_word_says_that_a_server_sends_nothing_on(hosted: Hosted, scripted: Scripted) -> None:
    view = await hosted.add(scripted(cannot_send=True))
    tool = (await hosted.tools_when_known("scripted.echo"))["scripted.echo"]
    access = await touched(tool)
    assert (access.destination, "sends" in access.effects) == ("", False)
    # What it says is a stranger's text all the same.
    assert access.brings == {"private", "untrusted"}
    await hosted.admin.patch(view.id, ServerPatch(cannot_send=False))
    tool = (await hosted.tools_when_known("scripted.echo"))["scripted.echo"]
    assert (await touched(tool)).destination == tool.server
