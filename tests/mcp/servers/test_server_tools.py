"""Tools of servers: selected, called, paused, cancelled, tried by hand."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import msgspec
import pytest

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.ports import CallTimes, Resumed, ToolPaused, ToolRequest
from pilothouse.types.selection import Selection, ServerChoice
from pilothouse.types.server_traffic import TrafficSwitch
from pilothouse.types.servers import (
    ServerPatch,
    ToolConfirmed,
    ToolTimes,
    ToolTry,
)
from tests.mcp.conftest import Scripted
from tests.support.mcp_hosting import McpHost, Progress, context, failure, open_mcp_host, text
from tests.support.waiting import eventually


@pytest.mark.case("HND-06", "NAM-17")
async def test_changed_tools_are_picked_up_live_and_wait_for_the_person(
    hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    tools = tmp_path / "tools.json"
    echo = {"name": "echo", "description": "Echoes.", "inputSchema": {"type": "object"}}
    tools.write_text(json.dumps([echo]))
    view = await hosted.add(scripted("--tools", str(tools)))
    held = (await hosted.tools_when_known("scripted.echo"))["scripted.echo"]
    raw = {"name": "raw", "description": "Raw.", "inputSchema": {"type": "object"}}
    tools.write_text(json.dumps([{**echo, "description": "Echoes, and mails it."}, raw]))
    changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    session = await hosted.server("Scripted").session("c1")
    asking = asyncio.create_task(session.call_tool("raw", {"line": changed}))
    found = await hosted.tools_when_known("scripted.raw")
    assert "scripted.echo" not in found
    asking.cancel()
    assert failure(await held.execute({"text": "x"}, context(), Progress()))[0] == "TOOL_CHANGED"
    waiting = next(tool for tool in (await hosted.admin.tools(ME, view.id)).tools if tool.state == "changed")
    assert "mails it" in waiting.reason
    with pytest.raises(PilothouseError) as stale:
        await hosted.admin.confirm_tool(ME, view.id, ToolConfirmed(name="echo", fingerprint=held.grant_key))
    assert stale.value.code == "conflict"
    await hosted.admin.confirm_tool(ME, view.id, ToolConfirmed(name="echo", fingerprint=waiting.fingerprint))
    accepted = (await hosted.tools())["scripted.echo"]
    assert accepted.grant_key != held.grant_key


@pytest.mark.case("NAM-03", "NAM-04", "NAM-06", "NAM-07", "NAM-08", "NAM-10", "NAM-14", "NAM-15")
async def test_a_selection_replaces_the_default_and_names_what_it_wants(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted(name="Alpha"))
    await hosted.add(scripted(name="Beta"))
    await hosted.call_when_known("alpha.echo", {"text": "x"})
    await hosted.call_when_known("beta.echo", {"text": "x"})
    every = await hosted.offered(ToolRequest("c1"))
    names = [tool.spec.name for tool in every.tools]
    assert names[0] == "think"
    assert names[1:] == sorted(names[1:])
    assert len(names) == 33
    assert "Tools, each name after alpha__: ask, big, count, deaf, echo, env," in every.guide
    assert "Gives back what it is given." not in every.guide
    assert "Server “Beta”" in every.guide
    only = await hosted.tools(Selection(servers=(ServerChoice(name="beta", tools=("echo", "beta.pid")),)))
    assert sorted(only) == ["beta.echo", "beta.pid", "think"]
    whole = await hosted.tools(Selection(servers=(ServerChoice(name="Alpha"),)))
    assert len(whole) == 17
    assert sorted(await hosted.tools(Selection(servers=()))) == ["think"]
    for wrong in (ServerChoice(name="gamma"), ServerChoice(name="alpha", tools=("nothing",))):
        with pytest.raises(PilothouseError) as unknown:
            await hosted.tools(Selection(servers=(wrong,)))
        assert unknown.value.code == "unknown_server"


@pytest.mark.case("NAM-06")
@pytest.mark.slow
async def test_a_named_server_is_waited_for_and_the_default_never_waits(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted("--delay", "0.5", name="Slow"))
    await hosted.add(scripted("--start", "silent", name="Dead"))
    assert list(await hosted.tools()) == ["think"]
    waited = await hosted.tools(Selection(servers=(ServerChoice(name="slow"),)))
    assert "slow.echo" in waited


async def test_a_named_server_that_cannot_start_is_told(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted("--start", "exit", "--code", "3", name="Broken"))
    await hosted.add(scripted(name="New"), agree=False)
    for name, code in (("Broken", "server_failed"), ("New", "unknown_server")):
        with pytest.raises(PilothouseError) as error:
            await hosted.tools(Selection(servers=(ServerChoice(name=name),)))
        assert error.value.code == code


async def test_a_call_that_asks_something_pauses_and_goes_on_with_the_answer(
    hosted: McpHost, scripted: Scripted
) -> None:
    await hosted.add(scripted(name="Old"))
    await hosted.add(scripted("--era", "modern", name="New"))
    for name in ("old", "new"):
        paused = await hosted.call_when_known(f"{name}.ask")
        assert isinstance(paused, ToolPaused)
        (ask,) = paused.asks
        assert (ask.kind, ask.message) == ("form", "What is your name?")
        answers = {ask.id: {"action": "accept", "content": {"name": "Ada"}}}
        resumed = Resumed(msgspec.json.decode(msgspec.json.encode(paused.state)), answers)
        assert "Ada" in text(await hosted.call(f"{name}.ask", resumed=resumed))


@pytest.mark.slow
async def test_a_server_that_waits_for_an_answer_is_not_idle(
    hosted: McpHost, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    await hosted.add(scripted())
    await hosted.add(scripted(name="Other"))
    paused = await hosted.call_when_known("scripted.ask")
    assert isinstance(paused, ToolPaused)
    # Used later, so that its time is over later.
    await hosted.call_when_known("other.echo", {"text": "x"})
    monkeypatch.setattr(limits, "IDLE_STOP", 0.2)
    for name in ("Scripted", "Other"):
        hosted.server(name).connection("c1").tools_changed()
    await hosted.until("Other", "idle")
    answers = {paused.asks[0].id: {"action": "accept", "content": {"name": "Ada"}}}
    assert "Ada" in text(await hosted.call("scripted.ask", resumed=Resumed(paused.state, answers)))


async def test_a_server_is_not_stopped_for_others_when_a_call_has_come_meanwhile(
    hosted: McpHost, scripted: Scripted
) -> None:
    await hosted.add(scripted())
    await hosted.call_when_known("scripted.echo", {"text": "x"})
    pid = text(await hosted.call("scripted.pid"))
    hosted.server("Scripted").connection("c1").rest()
    assert text(await hosted.call("scripted.pid")) == pid


async def test_a_question_whose_server_was_restarted_is_not_asked_twice(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted())
    paused = await hosted.call_when_known("scripted.ask")
    assert isinstance(paused, ToolPaused)
    os.kill(int(text(await hosted.call("scripted.pid"))), signal.SIGKILL)
    resumed = Resumed(paused.state, {paused.asks[0].id: {"action": "accept", "content": {}}})
    code, message = failure(await hosted.call("scripted.ask", resumed=resumed))
    assert code == "SERVER_LOST"
    assert "may have been carried out" in message


async def test_a_question_whose_server_was_switched_off_meanwhile_does_not_hide_that_the_call_had_begun(
    hosted: McpHost, scripted: Scripted
) -> None:
    await hosted.add(scripted())
    tool = (await hosted.tools_when_known("scripted.ask"))["scripted.ask"]
    paused = await tool.execute({}, context(), Progress())
    assert isinstance(paused, ToolPaused)
    await hosted.admin.patch(ME, "Scripted", ServerPatch(enabled=False))
    resumed = Resumed(paused.state, {paused.asks[0].id: {"action": "accept", "content": {}}})
    code, message = failure(await tool.execute({}, context(resumed=resumed), Progress()))
    assert code == "SERVER_OFF"
    assert message.endswith("It may have been carried out; check before you repeat it.")
    code, message = failure(await tool.execute({}, context(), Progress()))
    assert (code, message) == ("SERVER_OFF", "The server “Scripted” was switched off or changed.")


async def test_a_call_that_waits_for_an_answer_can_be_given_up(
    hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    await hosted.add(scripted("--record", str(record)))
    assert isinstance(await hosted.call_when_known("scripted.ask"), ToolPaused)
    await hosted.admin.release(["i1"])

    async def cancelled() -> bool:
        return "notifications/cancelled" in record.read_text()

    await eventually(cancelled, "the server to be told")


@pytest.mark.case("TMO-07", "F-18")
async def test_cancelling_a_call_tells_the_server(hosted: McpHost, scripted: Scripted, tmp_path: Path) -> None:
    record = tmp_path / "record"
    await hosted.add(scripted("--record", str(record)))
    await hosted.call_when_known("scripted.echo", {"text": "x"})
    call = asyncio.create_task(hosted.call("scripted.sleep", {"seconds": 60}))

    async def heard(what: str) -> bool:
        return what in record.read_text()

    await eventually(lambda: heard('"sleep"'), "the call to arrive")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await eventually(lambda: heard("notifications/cancelled"), "the server to be told")
    assert text(await hosted.call("scripted.echo", {"text": "y"})) == "y"


@pytest.mark.case("ERR-13", "TMO-03", "TMO-11", "ERR-03", "TRN-08")
async def test_failures_of_tools_are_told_in_the_servers_own_words(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted(tool_times={"sleep": ToolTimes(total=120)}))
    assert failure(await hosted.call_when_known("scripted.fail", {"message": "No such city."})) == (
        "TOOL_ERROR",
        "No such city.",
    )
    refused = '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"Unknown city."}}'
    assert failure(await hosted.call("scripted.raw", {"line": refused})) == ("TOOL_ERROR", "Unknown city.")
    bad = await hosted.call("scripted.raw", {"line": '{"jsonrpc":"2.0","id":$ID}'})
    assert failure(bad)[0] == "BAD_ANSWER"
    tools = await hosted.tools()
    assert tools["scripted.echo"].times_for({}) == CallTimes(600, 30)
    assert tools["scripted.sleep"].times_for({}) == CallTimes(120, 30)
    assert tools["scripted.echo"].shown({"text": "Hello\nworld"}).summary == "scripted.echo: Hello world"


async def test_progress_is_passed_on(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted())
    await hosted.call_when_known("scripted.echo", {"text": "x"})
    progress = Progress()
    assert text(await hosted.call("scripted.progress", {"steps": 3}, progress=progress)) == "3 steps"
    assert progress.told[-1] == (3, 3, "step 3")


@pytest.mark.case("STA-07", "OBS-07")
async def test_a_person_tries_a_tool_and_sees_what_happened(hosted: McpHost, scripted: Scripted) -> None:
    view = await hosted.add(scripted(env={"TOKEN": "canary-secret-value"}))
    await hosted.call_when_known("scripted.echo", {"text": "x"})
    assert (await hosted.admin.traffic(ME, 0, view.id)).messages == ()
    await hosted.admin.switch_traffic(ME, TrafficSwitch(recording=True))
    tried = await hosted.admin.try_tool(
        ME, ToolTry(server_id=view.id, tool="echo", arguments={"text": "canary-secret-value"})
    )
    assert tried.ok
    assert tried.text == "[redacted]"
    assert tried.content == ({"type": "text", "text": "[redacted]"},)
    failed = await hosted.admin.try_tool(ME, ToolTry(server_id=view.id, tool="scripted.fail"))
    assert (failed.ok, failed.text) == (False, "It went wrong.")
    asked = await hosted.admin.try_tool(ME, ToolTry(server_id=view.id, tool="ask"))
    assert "question" in asked.text
    status = (await hosted.admin.status(ME)).servers[0]
    assert [call.ok for call in status.calls] == [True, True, False, False]
    assert [change.state for change in status.history][-1] == "connected"
    page = await hosted.admin.traffic(ME, 0, view.id)
    assert {"request", "response"} <= {message.kind for message in page.messages}
    assert "canary-secret-value" not in str(page)
    with pytest.raises(PilothouseError) as unknown:
        await hosted.admin.try_tool(ME, ToolTry(server_id=view.id, tool="nothing"))
    assert unknown.value.code == "not_found"


@pytest.mark.case("HND-16", "HND-17")
async def test_many_tools_are_listed_and_the_log_says_how(hosted: McpHost, scripted: Scripted, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": f"tool_{number}", "inputSchema": {}} for number in range(44)]))
    await hosted.add(scripted("--tools", str(tools)))
    assert (await hosted.admin.test(ME, "Scripted")).tools == 44
    log = "\n".join(line.text for line in (await hosted.admin.log(ME, "Scripted")).lines)
    assert "initialize OK: scripted 1.0, protocol 2025-11-25" in log
    assert "44 tools in 1 page" in log


@pytest.mark.case("TOOL-04", "NAM-02")
async def test_the_same_name_on_two_servers_and_a_built_in_name_shadow_nothing(
    hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "think", "inputSchema": {}}, {"name": "echo", "inputSchema": {}}]))
    for name in ("One", "Two", "think"):
        await hosted.add(scripted("--tools", str(tools), name=name))
        assert (await hosted.admin.test(ME, name)).ok
    found = await hosted.offered(ToolRequest("c1"))
    names = [tool.spec.name for tool in found.tools]
    assert len(names) == len(set(names)) == 7
    built_in = next(tool for tool in found.tools if tool.spec.name == "think")
    assert built_in.server == ""
    assert "one__think" in names
    assert "think_server__think" in names


@pytest.mark.case("PRF-01", "TMO-04")
@pytest.mark.slow
async def test_a_call_that_waits_for_its_server_to_start_says_so(
    home: Path, hosted: McpHost, scripted: Scripted
) -> None:
    await hosted.add(scripted("--delay", "0.5"))
    assert (await hosted.admin.test(ME, "Scripted")).ok
    async with open_mcp_host(home) as again:
        progress = Progress()
        assert text(await again.call("scripted.echo", {"text": "x"}, progress=progress)) == "x"
        assert progress.told == [(None, None, "Starting Scripted...")]


@pytest.mark.case("ERR-15")
@pytest.mark.slow
async def test_a_server_that_never_answers_its_calls_is_spared_for_a_while(
    hosted: McpHost, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MCP_TOTAL", 0.05)
    monkeypatch.setattr(limits, "BREAKER_FAILURES", 2)
    await hosted.add(scripted())
    assert (await hosted.admin.test(ME, "Scripted")).ok
    for _ in range(2):
        call = asyncio.create_task(hosted.call("scripted.sleep", {"seconds": 60}))
        await hosted.at_work("Scripted")
        # Its time, and no answer: here it is what is tested.
        await asyncio.sleep(2 * limits.MCP_TOTAL)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert failure(await hosted.call("scripted.echo", {"text": "x"}))[0] == "SERVER_UNAVAILABLE"


async def test_a_server_that_a_person_tested_is_called_again_at_once(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted())
    await hosted.tools_when_known("scripted.echo")
    for _ in range(limits.BREAKER_FAILURES):
        hosted.server("Scripted").breaker.failed()
    code, message = failure(await hosted.call("scripted.echo", {"text": "x"}))
    assert (code, "tried again in" in message) == ("SERVER_UNAVAILABLE", True)
    assert (await hosted.admin.test(ME, "Scripted")).ok
    assert text(await hosted.call("scripted.echo", {"text": "x"})) == "x"
