"""What a call of a server's tool touches: anything, unless the person says otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilothouse.types.access import Access
from pilothouse.types.authority import Pattern, Seen, unmarked
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.json import convert
from pilothouse.types.ports import PermitNeeded, Tool
from pilothouse.types.servers import ConsentGiven, ServerPatch
from tests.mcp.conftest import Scripted
from tests.support.authorizers import FILES_READ, a_grant, an_authorizer, decide, verdict
from tests.support.mcp_hosting import McpHost, context


async def touched(tool: Tool) -> Access:
    access = await tool.access({"text": "hello"}, context())
    assert isinstance(access, Access)
    return access


@pytest.mark.case("EXFIL-02", "TOOL-06")
async def test_a_servers_tool_may_do_anything_and_sends_what_it_is_told(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted())
    tools = await hosted.tools_when_known("scripted.echo")
    for tool in tools.values():
        if tool.server:
            access = await touched(tool)
            assert access.effects == tool.effects == {"reads", "writes", "runs", "sends"}
            assert (access.destination, unmarked(access.source)) == (tool.server, f"server:{tool.server}")
            assert access.brings == {"private", "untrusted"}
            assert access.payload_bytes == len('{"text":"hello"}')


@pytest.mark.case("TOOL-06")
async def test_a_tool_that_claims_to_only_read_may_do_anything_all_the_same(
    hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    harmless = {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
    listed = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "look")]
    (tmp_path / "tools.json").write_text(json.dumps([listed[0], {**listed[1], "annotations": harmless}]))
    await hosted.add(scripted("--tools", str(tmp_path / "tools.json")))
    tools = await hosted.tools_when_known("scripted.look")
    claims, other = [await touched(tools[f"scripted.{name}"]) for name in ("look", "echo")]
    assert claims.effects == tools["scripted.look"].effects == other.effects
    assert (claims.destination, claims.brings) == (other.destination, other.brings)


@pytest.mark.case("EXFIL-02")
async def test_only_the_persons_word_says_that_a_server_sends_nothing_on(hosted: McpHost, scripted: Scripted) -> None:
    view = await hosted.add(scripted(cannot_send=True))
    tool = (await hosted.tools_when_known("scripted.echo"))["scripted.echo"]
    access = await touched(tool)
    assert (access.destination, "sends" in access.effects) == ("", False)
    # What it says is a stranger's text all the same.
    assert access.brings == {"private", "untrusted"}
    await hosted.admin.patch(ME, view.id, ServerPatch(cannot_send=False))
    tool = (await hosted.tools_when_known("scripted.echo"))["scripted.echo"]
    assert (await touched(tool)).destination == tool.server


@pytest.mark.case("AUTHZ-04")
@pytest.mark.parametrize(
    ("options", "variables"), [(("--delay", "0"), {}), ((), {"API": "https://other.example"})], ids=["command", "env"]
)
async def test_a_server_as_another_command_or_with_other_variables_is_another_one(
    hosted: McpHost, scripted: Scripted, options: tuple[str, ...], variables: dict[str, str]
) -> None:
    """What was allowed for it, or read from it, was with the one that it was."""
    view = await hosted.add(scripted())
    held = (await hosted.tools_when_known("scripted.echo"))["scripted.echo"]
    was = await touched(held)
    asked = await decide(was, tool=held, seen=FILES_READ)
    assert isinstance(asked, PermitNeeded)
    exact = convert(asked.data["proposal"], Pattern)
    whole = Pattern(tool="scripted.*", definition=hosted.admin.names()["scripted"].key)
    changed = await hosted.admin.update(ME, view.id, scripted(*options, env=variables))
    assert changed.consent is not None
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=changed.consent.fingerprint))
    other = (await hosted.tools_when_known("scripted.echo"))["scripted.echo"]
    for pattern in (exact, whole):
        by = an_authorizer(a_grant(pattern))
        assert verdict(await decide(was, by=by, tool=held, seen=FILES_READ))[0] == "allow"
        assert verdict(await decide(was, by=by, tool=other, seen=FILES_READ))[2] == "leaving"
    told = Seen(frozenset({was.source}))
    found = await decide(await touched(other), "auto_approve", tool=other, seen=told)
    assert found.decision.why == "It can take what was read from the server Scripted to Scripted."
