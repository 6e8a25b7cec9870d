"""A server that asks by itself is spoken to in the handshake era, where it can; that is remembered, and told."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.ports import Resumed, ToolOutput, ToolPaused
from pilothouse.types.servers import ServerInput, ServerPatch
from tests.mcp.conftest import Scripted
from tests.mcp.programs import REFERENCE
from tests.support.mcp_hosting import McpHost, failure, open_mcp_host, text, until_ended
from tests.support.waiting import eventually

NOTE = "It asks questions by itself, which the protocol of 2026-07-28 does not have: it is spoken to in the older one."


def accepted(paused: ToolOutput | ToolPaused, content: dict[str, str] | None = None) -> Resumed:
    """Return a person's yes to what a call asked."""
    assert isinstance(paused, ToolPaused), paused
    answer = {"action": "accept", "content": content or {}}
    return Resumed(paused.state, {ask.id: answer for ask in paused.asks})


async def asked_again(hosted: McpHost, name: str = "scripted.ask") -> Resumed:
    """Let a call fail to ask, and let the person say that it be made again."""
    paused = await hosted.call_when_known(name)
    assert isinstance(paused, ToolPaused), paused
    (ask,) = paused.asks
    assert "Part of the call may have been done" in ask.message
    return accepted(paused)


@pytest.mark.parametrize("kit", ["fastmcp", "sdk", "node"])
async def test_a_server_that_cannot_ask_in_the_modern_era_is_asked_again_in_the_older_one(
    hosted: McpHost, scripted: Scripted, kit: str
) -> None:
    await hosted.add(scripted("--pushes", kit))
    assert (await hosted.until("Scripted", "connected")).protocol_version == "2026-07-28"
    question = await hosted.call("scripted.ask", resumed=await asked_again(hosted))
    assert "Ada" in text(await hosted.call("scripted.ask", resumed=accepted(question, {"name": "Ada"})))
    view = await hosted.view("Scripted")
    assert (view.protocol_version, view.protocol_note) == ("2025-11-25", NOTE)
    lines = [line.text for line in (await hosted.admin.log(ME, view.id)).lines]
    assert sum(line.startswith("It asks questions by itself") for line in lines) == 1


@pytest.mark.slow
async def test_the_reference_implementation_is_understood(hosted: McpHost) -> None:
    await hosted.add(ServerInput(name="Reference", command=sys.executable, args=(REFERENCE,)))
    assert (await hosted.until("Reference", "connected")).protocol_version == "2026-07-28"
    question = await hosted.call("reference.interrupt", resumed=await asked_again(hosted, "reference.interrupt"))
    answered = await hosted.call("reference.interrupt", resumed=accepted(question, {"name": "Ada"}))
    assert text(answered) == "Hello Ada"
    # What was learned holds for all its tools.
    assert isinstance(await hosted.call("reference.interrupt"), ToolPaused)


async def test_no_call_is_made_again_without_the_persons_word(
    hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    await hosted.add(scripted("--pushes", "fastmcp", "--record", str(record)))
    paused = await hosted.call_when_known("scripted.ask")
    assert isinstance(paused, ToolPaused)
    resumed = Resumed(paused.state, {ask.id: {"action": "decline"} for ask in paused.asks})
    code, message = failure(await hosted.call("scripted.ask", resumed=resumed))
    assert code == "COULD_NOT_ASK"
    assert "may have been carried out" in message
    assert [json.loads(line)["method"] for line in record.read_text().splitlines()].count("tools/call") == 1


async def test_what_only_reads_is_made_again_at_once(hosted: McpHost, scripted: Scripted, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "ask", "inputSchema": {}, "annotations": {"readOnlyHint": True}}]))
    view = await hosted.add(scripted("--pushes", "fastmcp", "--tools", str(tools)))
    await hosted.admin.patch(ME, view.id, ServerPatch(read_only=True))
    paused = await hosted.call_when_known("scripted.ask")
    assert isinstance(paused, ToolPaused)
    assert [ask.message for ask in paused.asks] == ["What is your name?"]


@pytest.mark.slow
async def test_it_is_remembered_from_one_start_to_the_next(home: Path, quick: None, scripted: Scripted) -> None:
    async with open_mcp_host(home) as first:
        await first.add(scripted("--pushes", "fastmcp"))
        await asked_again(first)
    async with open_mcp_host(home) as second:
        question = await second.call_when_known("scripted.ask")
        assert isinstance(question, ToolPaused)
        assert [ask.message for ask in question.asks] == ["What is your name?"]
        await second.server("Scripted").release("i1")


async def test_a_changed_entry_tries_the_modern_era_anew(hosted: McpHost, scripted: Scripted) -> None:
    view = await hosted.add(scripted("--pushes", "fastmcp"))
    await asked_again(hosted)
    await hosted.admin.update(ME, view.id, scripted("--pushes", "fastmcp", plain_env={"MODE": "2"}))
    server = hosted.server("Scripted")
    await server.agree(hosted.supervisor.parts.consents().look(server.entry).fingerprint())
    server.retry()
    view = await hosted.until("Scripted", "connected")
    assert (view.protocol_version, view.protocol_note) == ("2026-07-28", "")


async def test_calls_under_way_are_not_cut_off_by_the_change(
    hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    until = tmp_path / "go on"
    await hosted.add(scripted("--pushes", "fastmcp"))
    await hosted.tools_when_known("scripted.progress")
    before = int(text(await hosted.call("scripted.pid")))
    running = asyncio.create_task(hosted.call("scripted.progress", {"steps": 2, "until": str(until)}))

    async def begun() -> bool:
        connections = hosted.server("Scripted").connections.values()
        return any(connection.busy for connection in connections)

    await eventually(begun, "the call to be under way")
    question = await hosted.call("scripted.ask", resumed=await asked_again(hosted))
    until.touch()
    assert text(await running) == "2 steps"
    assert "Ada" in text(await hosted.call("scripted.ask", resumed=accepted(question, {"name": "Ada"})))
    # The older process ends with its last call.
    await until_ended(before)


async def test_a_server_that_speaks_no_other_era_goes_on_in_the_modern_one(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted("--pushes", "fastmcp", "--refuses", "initialize"))
    code, message = failure(await hosted.call("scripted.ask", resumed=await asked_again(hosted)))
    assert (code, "server-initiated requests" in message) == ("TOOL_ERROR", True)
    assert text(await hosted.call("scripted.echo", {"text": "here"})) == "here"
    # Nobody is asked a second time about what cannot be.
    assert failure(await hosted.call("scripted.ask"))[0] == "TOOL_ERROR"
    assert (await hosted.view("Scripted")).protocol_note == ""


async def test_a_person_who_chose_the_modern_era_is_told_what_to_change(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted("--pushes", "fastmcp", era="modern"))
    code, message = failure(await hosted.call_when_known("scripted.ask"))
    assert code == "TOOL_ERROR"
    assert "server-initiated requests" in message
    assert "set to the newest protocol only" in message


async def test_the_same_words_in_the_handshake_era_are_an_ordinary_failure(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted())
    said = "elicitation via server-initiated requests is unavailable"
    await hosted.tools_when_known("scripted.fail")
    assert failure(await hosted.call("scripted.fail", {"message": said}))[1].endswith(said)


@pytest.mark.parametrize("wanted", ["sampling/createMessage", "roots/list"])
async def test_what_is_offered_in_neither_era_changes_none(hosted: McpHost, scripted: Scripted, wanted: str) -> None:
    await hosted.add(scripted("--era", "modern"))
    said = f"Cannot send '{wanted}': this transport context has no back-channel for server-initiated requests."
    await hosted.tools_when_known("scripted.fail")
    assert failure(await hosted.call("scripted.fail", {"message": said}))[0] == "TOOL_ERROR"
    assert (await hosted.view("Scripted")).protocol_note == ""
