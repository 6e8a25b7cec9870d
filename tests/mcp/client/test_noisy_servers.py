"""Servers that say too much: rubbish, changes that are none, logs without an end, lists without measure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilothouse.types import limits
from pilothouse.types.host import LOCAL_OWNER as ME
from tests.mcp.conftest import Scripted
from tests.support.mcp_hosting import McpHost, text

ANSWER = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"ok"}]}}'
CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
HINT = "It writes other things than messages to its output; they stand here and disturb no call."


@pytest.mark.case("F-05")
async def test_what_is_no_message_stands_in_the_log_and_is_explained_once(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted())
    await hosted.tools_when_known("scripted.raw")
    for port in (3000, 3001):
        line = f"Listening on port {port}\n\n\ufeff\n{ANSWER}"
        assert text(await hosted.call("scripted.raw", {"line": line})) == "ok"
    log = (await hosted.admin.log(ME, "Scripted")).lines
    rubbish = [line.text.rpartition(": ")[2] for line in log if line.source == "stdout"]
    assert rubbish == ["Listening on port 3000", "Listening on port 3001"]
    assert [line.text for line in log if line.source == "host" and line.level == "warning"] == [HINT]


@pytest.mark.case("TOOL-12")
async def test_a_server_that_cries_change_all_the_time_is_asked_once_in_a_while(
    hosted: McpHost, scripted: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RELIST_EVERY", 60.0)
    record = tmp_path / "record"
    await hosted.add(scripted("--record", str(record)))
    await hosted.tools_when_known("scripted.raw")
    for _ in range(20):
        assert text(await hosted.call("scripted.raw", {"line": f"{CHANGED}\n{ANSWER}"})) == "ok"
    methods = [json.loads(line).get("method") for line in record.read_text().splitlines()]
    assert methods.count("tools/call") == 20
    assert methods.count("tools/list") == 1


async def test_a_server_that_just_cried_change_is_stopped_at_once_and_without_an_error(
    hosted: McpHost, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RELIST_EVERY", 60.0)
    await hosted.add(scripted())
    await hosted.tools_when_known("scripted.raw")
    assert text(await hosted.call("scripted.raw", {"line": f"{CHANGED}\n{ANSWER}"})) == "ok"
    await hosted.server("Scripted").stop()
    log = (await hosted.admin.log(ME, "Scripted")).lines
    assert [line.text for line in log if line.level == "error"] == []


@pytest.mark.case("TOOL-12")
@pytest.mark.slow
async def test_a_flood_of_log_messages_is_bounded_and_reaches_no_other_server(
    hosted: McpHost, scripted: Scripted
) -> None:
    await hosted.add(scripted())
    await hosted.add(scripted(name="Other"))
    await hosted.tools_when_known("scripted.raw")
    await hosted.tools_when_known("other.echo")
    said = json.dumps({"method": "notifications/message", "params": {"level": "info", "data": "again " + "x" * 9_000}})
    flood = "\n".join([said] * 1_500)
    assert text(await hosted.call("scripted.raw", {"line": f"{flood}\n{ANSWER}"})) == "ok"
    kept = (await hosted.admin.log(ME, "Scripted")).lines
    assert len(kept) == 1_000
    assert max(len(line.text) for line in kept) == 4_000
    assert text(await hosted.call("other.echo", {"text": "quiet"})) == "quiet"
    assert not any("again" in line.text for line in (await hosted.admin.log(ME, "Other")).lines)


@pytest.mark.case("TOOL-08")
async def test_a_list_beyond_measure_is_cut_that_is_told_and_others_are_not_affected(
    hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": f"tool_{number}", "inputSchema": {}} for number in range(5_000)]))
    await hosted.add(scripted("--tools", str(tools)))
    await hosted.add(scripted(name="Other"))
    assert (await hosted.admin.test(ME, "Scripted")).tools == 2_000
    (errors, *_) = [server.errors for server in (await hosted.admin.status(ME)).servers]
    assert {error.text for error in errors} == {"The server offers more than 2,000 tools."}
    assert text(await hosted.call_when_known("other.echo", {"text": "mine"})) == "mine"
