"""Servers from their first start to their end: lazily started, watched, restarted, stopped."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from pilothouse.mcp.servers.consent import look
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.servers import (
    ConsentGiven,
    ImportRequest,
    ServerInput,
    ServerPatch,
    ServerView,
    ToolTimes,
)
from tests.mcp.conftest import Scripted
from tests.support.limits_in_hand import in_hand
from tests.support.mcp_hosting import McpHost, Progress, context, failure, open_mcp_host, text, until_ended
from tests.support.waiting import eventually

TALKS = ("-c", "import time; print('Hello', flush=True); time.sleep(60)")
TALKING = ServerInput(name="X", command=sys.executable, args=TALKS)


async def add_with_consent_only(hosted: McpHost, body: ServerInput) -> ServerView:
    """Add a server that is switched off, agree to it and switch it on, which starts nothing; return it as added."""
    view = await hosted.admin.add(ME, body)
    await hosted.admin.patch(ME, view.id, ServerPatch(enabled=True))
    assert (await hosted.view(view.id)).consent is not None
    hosted.supervisor.parts.consents().give(view.id, look(hosted.server(view.id).entry))
    return view


@pytest.mark.case("SPAWN-01", "SRV-15", "PRC-07", "PRC-09", "STA-01", "STA-02", "CON-05", "CON-07", "CON-29", "HND-14")
async def test_a_local_server_starts_after_consent_and_tells_its_tools(hosted: McpHost, scripted: Scripted) -> None:
    view = await hosted.admin.add(ME, scripted())
    assert (view.state, view.label) == ("needs_consent", "Waiting for your consent")
    assert view.consent is not None
    assert view.consent.argv[0] == sys.executable
    assert view.process is None
    with pytest.raises(PilothouseError) as refused:
        await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint="0" * 64))
    assert refused.value.code == "conflict"
    await hosted.admin.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
    running = await hosted.until("Scripted", "connected")
    assert running.label == "Connected (16 tools)"
    assert running.process is not None
    assert running.process.memory_bytes
    assert 0 <= time.time() - running.process.started_at < 60
    assert running.connected_at
    assert running.server_version == "scripted 1.0"
    assert text(await hosted.call("scripted.echo", {"text": "hello"})) == "hello"
    assert (await hosted.view("Scripted")).last_used_at


@pytest.mark.case("CON-25", "SRV-17", "CON-01", "PRC-05", "CON-05")
async def test_a_known_server_starts_at_its_first_call_and_its_tools_are_offered_before(
    home: Path, hosted: McpHost, scripted: Scripted
) -> None:
    await hosted.add(scripted())
    await hosted.until("Scripted", "connected")
    await add_with_consent_only(hosted, scripted(name="New", enabled=False))
    await hosted.supervisor.close()
    async with open_mcp_host(home, begin=True) as again:
        # Whatever starts by itself has begun to start when a server that nobody has seen yet is connected.
        await again.until("New", "connected")
        view = await again.view("Scripted")
        assert (view.state, view.label, view.tool_count) == ("idle", "Idle", 16)
        first = text(await again.call("scripted.pid"))
        assert (await again.view("Scripted")).state == "connected"
        assert text(await again.call("scripted.pid")) == first


@pytest.mark.case("CON-25", "SRV-16", "SRV-17", "CON-03")
async def test_a_server_that_was_never_seen_is_started_once_in_the_background(
    home: Path, hosted: McpHost, scripted: Scripted
) -> None:
    view = await add_with_consent_only(hosted, scripted(enabled=False))
    assert (view.state, view.label) == ("disabled", "Disabled")
    assert "scripted.echo" not in await hosted.tools()
    async with open_mcp_host(home, begin=True) as again:
        assert "scripted.echo" not in await again.tools(), "a run does not wait"
        await again.until("Scripted", "connected")
        assert "scripted.echo" in await again.tools()


@pytest.mark.case("SRV-02", "SRV-23", "CON-21", "NAM-17")
async def test_switching_off_stops_the_process_and_takes_the_tools_away(hosted: McpHost, scripted: Scripted) -> None:
    view = await hosted.add(scripted())
    await hosted.until("Scripted", "connected")
    pid = int(text(await hosted.call("scripted.pid")))
    tool = (await hosted.tools())["scripted.echo"]
    await hosted.admin.patch(ME, view.id, ServerPatch(enabled=False))
    assert "scripted.echo" not in await hosted.tools()
    await until_ended(pid)
    assert failure(await tool.execute({"text": "x"}, context(), Progress()))[0] == "SERVER_OFF"
    await hosted.admin.patch(ME, view.id, ServerPatch(enabled=True))
    assert text(await hosted.call("scripted.echo", {"text": "again"})) == "again"


@pytest.mark.case("SRV-22", "SECRET-01")
async def test_deleting_stops_the_process_and_deletes_every_secret(
    home: Path, hosted: McpHost, scripted: Scripted
) -> None:
    view = await hosted.add(scripted(env={"TOKEN": "canary-secret-value"}))
    await hosted.until("Scripted", "connected")
    environment = json.loads(text(await hosted.call("scripted.env")))
    assert environment["TOKEN"] == "canary-secret-value"
    pid = int(text(await hosted.call("scripted.pid")))
    assert "canary-secret-value" not in (home / "config.json").read_text()
    await hosted.admin.delete(ME, view.id)
    await until_ended(pid)
    assert not list((home / "secrets").glob(f"mcp_{view.id}*"))
    assert not list((home / "cache" / "mcp").glob("*.json"))
    assert (await hosted.admin.list(ME)).servers == ()
    with pytest.raises(PilothouseError) as unknown:
        await hosted.admin.retry(ME, view.id)
    assert unknown.value.code == "not_found"


@pytest.mark.case("SPAWN-09", "PRC-04")
async def test_a_server_sees_its_own_variables_and_none_of_ours(
    hosted: McpHost, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "PILOTHOUSE_TOKEN"):
        monkeypatch.setenv(name, "not for servers")
    await hosted.add(scripted(env={"OWN": "own-secret-1"}, plain_env={"MODE": "test"}))
    await hosted.add(scripted(name="Other", env={"OTHERS": "other-secret"}))
    seen = json.loads(text(await hosted.call_when_known("scripted.env")))
    assert (seen["OWN"], seen["MODE"]) == ("own-secret-1", "test")
    assert "not for servers" not in seen.values()
    assert "OTHERS" not in seen


@pytest.mark.case("CON-19", "CON-20", "CON-02", "CON-05")
async def test_only_a_server_whose_entry_changed_is_touched(hosted: McpHost, scripted: Scripted) -> None:
    first = await hosted.add(scripted(name="First"))
    second = await hosted.add(scripted(name="Second"))
    pids = [text(await hosted.call_when_known(f"{name}.pid")) for name in ("first", "second")]
    # A time limit touches nothing that runs; another folder is another process.
    await hosted.admin.update(ME, first.id, scripted(name="First", times=ToolTimes(total=5)))
    changed = await hosted.admin.update(ME, second.id, scripted(name="Second", cwd="/"))
    assert changed.state == "needs_consent"
    assert changed.consent is not None
    assert any("Folder" in line for line in changed.consent.changes)
    assert text(await hosted.call("first.pid")) == pids[0]
    assert (await hosted.tools())["first.pid"].times_for({}).total == 5
    await until_ended(int(pids[1]))


@pytest.mark.case("SRV-12")
async def test_a_file_without_a_list_of_servers_has_none_and_takes_the_first(
    home: Path, hosted: McpHost, scripted: Scripted
) -> None:
    (home / "config.json").write_text('{"version": "1.0"}')
    listed = await hosted.admin.list(ME)
    assert (listed.servers, listed.problem) == ((), None)
    view = await hosted.add(scripted(), agree=False)
    assert [each["id"] for each in json.loads((home / "config.json").read_text())["mcps"]] == [view.id]


@pytest.mark.case("SPAWN-06", "CON-19")
async def test_an_entry_written_into_the_file_starts_nothing_without_consent(
    home: Path, hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    marker = tmp_path / "started"
    await add_with_consent_only(hosted, scripted(name="Honest", enabled=False))
    config = json.loads((home / "config.json").read_text())
    config["mcps"][:0] = [
        {
            "id": "evil",
            "name": "Evil",
            "package": {"type": "command", "identifier": "/bin/sh"},
            "config": {"args": ["-c", f"touch {marker}"], "always_on": True},
        },
        {"id": "broken", "name": "Broken", "package": {"type": "nonsense", "identifier": "x"}},
    ]
    (home / "config.json").write_text(json.dumps(config))
    hosted.supervisor.begin()
    # Whatever starts by itself has begun to start when a server with consent is connected.
    await hosted.until("Honest", "connected")
    evil = await hosted.until("Evil", "needs_consent")
    assert evil.consent is not None
    assert any("arbitrary code" in warning for warning in evil.consent.warnings)
    assert (await hosted.admin.test(ME, "evil")).ok is False
    assert not marker.exists()
    broken = await hosted.view("Broken")
    assert (broken.state, broken.label) == ("error", f"Error: {broken.last_error}")
    await hosted.admin.delete(ME, "broken")
    assert [view.name for view in (await hosted.admin.list(ME)).servers] == ["Evil", "Honest"]


@pytest.mark.case("F-01", "F-50", "CON-13", "CON-16", "CON-28", "CON-29", "ERR-07")
async def test_a_server_killed_during_a_call_fails_it_at_once_and_is_back_for_the_next(
    hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    await hosted.add(scripted("--record", str(record)))
    await hosted.until("Scripted", "connected")
    call = asyncio.create_task(hosted.call("scripted.sleep", {"seconds": 60}))
    pid = int(text(await hosted.call("scripted.pid")))

    async def arrived() -> bool:
        return '"sleep"' in record.read_text()

    await eventually(arrived, "the call to arrive")
    began = asyncio.get_running_loop().time()
    os.kill(pid, signal.SIGKILL)
    code, message = failure(await call)
    assert asyncio.get_running_loop().time() - began < 1
    assert code == "SERVER_LOST"
    assert "signal 9" in message
    assert "may have been carried out" in message
    assert int(text(await hosted.call("scripted.pid"))) != pid
    view = await hosted.view("Scripted")
    assert view.restarts == 1
    assert ("warning", "Scripted disconnected. Reconnecting...") in hosted.notices
    assert hosted.notices[-1] == ("info", "Scripted is connected again.")


@pytest.mark.case("F-02", "CON-04", "CON-23", "CON-24", "CON-32")
@pytest.mark.slow
async def test_a_server_that_exits_at_once_is_told_with_its_exit_code_and_last_words(
    hosted: McpHost, scripted: Scripted
) -> None:
    words = "\n".join([*(f"trying {number}" for number in range(30)), "no database"])
    await hosted.add(scripted("--start", "exit", "--code", "7", "--say", words))
    await hosted.add(scripted(name="Good"))
    view = await hosted.until("Scripted", "error")
    assert view.last_error == "“Scripted” ended with exit code 7: no database"
    assert view.fix
    log = [line.text for line in (await hosted.admin.log(ME, "Scripted")).lines]
    assert "no database" in log
    last = "\n".join([*(f"trying {number}" for number in range(11, 30)), "no database"])
    assert f"Its last words:\n{last}" in log
    assert text(await hosted.call_when_known("good.echo", {"text": "x"})) == "x"
    history = (await hosted.admin.status(ME)).servers[0].history
    await hosted.admin.retry(ME, view.id)

    async def tried() -> bool:
        return len((await hosted.admin.status(ME)).servers[0].history) > len(history)

    await eventually(tried, "another try")
    await hosted.until("Scripted", "error")


@pytest.mark.case("F-14", "CON-15", "CON-28", "ERR-08")
@pytest.mark.slow
async def test_a_crash_loop_ends_after_three_restarts_with_few_words(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted())
    await hosted.until("Scripted", "connected")
    for _ in range(limits.BREAKER_FAILURES):
        output = await hosted.call("scripted.exit", {"code": 3})
        if failure(output)[0] == "SERVER_UNAVAILABLE":
            break
    view = await hosted.until("Scripted", "error")
    assert "exit code 3" in view.last_error
    assert view.restarts == 3
    assert hosted.notices[-1] == ("error", "Scripted failed to restart. Check settings.")
    told = len(hosted.notices)
    code, _ = failure(await hosted.call("scripted.echo", {"text": "x"}))
    assert code == "SERVER_UNAVAILABLE"
    assert len(hosted.notices) == told
    await hosted.admin.retry(ME, view.id)
    await hosted.until("Scripted", "connected")


@pytest.mark.case("CON-26", "CON-27")
@pytest.mark.slow
async def test_a_server_that_nobody_calls_is_stopped_and_its_tools_stay(
    hosted: McpHost, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IDLE_STOP", 0.2)
    await hosted.add(scripted())
    await hosted.add(scripted(name="Always", always_on=True))
    await hosted.until("Always", "connected")
    await hosted.tools_when_known("scripted.echo")
    await hosted.until("Scripted", "idle")
    assert (await hosted.view("Always")).state == "connected"
    assert text(await hosted.call("scripted.echo", {"text": "back"})) == "back"


@pytest.mark.case("CON-07", "CON-11", "CON-13", "CON-18", "CON-24", "OBS-11")
@pytest.mark.slow
async def test_a_server_that_stops_answering_is_found_out_and_replaced(
    hosted: McpHost, scripted: Scripted, often_checked: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answering = in_hand(monkeypatch, "HEALTH_ANSWER", 2.0)
    await hosted.add(scripted())
    await hosted.until("Scripted", "connected")
    pid = int(text(await hosted.call("scripted.pid")))

    async def checked() -> bool:
        return (await hosted.view("Scripted")).last_health_check is not None

    await eventually(checked, "a health check")
    # A server that does one thing at a time answers nothing else during a call; that is no reason for suspicion.
    until = tmp_path / "go on"
    call = asyncio.create_task(hosted.call("scripted.sleep", {"until": str(until), "seconds": 0}))
    await hosted.at_work("Scripted")
    os.kill(pid, signal.SIGSTOP)
    for _ in range(10):
        await asyncio.sleep(limits.HEALTH_EVERY)
        answering.run_out()
    os.kill(pid, signal.SIGCONT)
    until.touch()
    assert text(await call) == "awake"
    assert int(text(await hosted.call("scripted.pid"))) == pid
    os.kill(pid, signal.SIGSTOP)

    async def replaced() -> bool:
        process = (await hosted.view("Scripted")).process
        is_new = process is not None and process.pid != pid
        if not is_new:  # That one is well, and has all the time that it needs.
            answering.run_out()
        return is_new

    await eventually(replaced, "another process")
    ill = "It did not answer the health check within 2 s."
    status = (await hosted.admin.status(ME)).servers[0]
    assert [line.text for line in status.errors] == [ill]
    assert [(change.state, change.reason) for change in status.history][-2:] == [
        ("reconnecting", ill),
        ("connected", ""),
    ]
    # What went wrong is still told when all is well again.
    assert (await hosted.view("Scripted")).last_error == ill


async def test_a_server_of_a_conversation_keeps_its_state_apart(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted(per_conversation=True))
    await hosted.until("Scripted", "connected")
    first = text(await hosted.call("scripted.pid", conversation="c1"))
    second = text(await hosted.call("scripted.pid", conversation="c2"))
    assert first != second
    assert text(await hosted.call("scripted.pid", conversation="c1")) == first
    server = hosted.server("Scripted")
    for connection in server.connections.values():
        connection.rest()
    await hosted.until("Scripted", "idle")
    assert text(await hosted.call("scripted.pid", conversation="c3")) not in (first, second)
    assert list(server.connections) == ["c3"]


@pytest.mark.case("F-38", "CON-30", "CON-05")
@pytest.mark.slow
async def test_closing_ends_all_processes_side_by_side(
    home: Path, quick: None, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    grace = in_hand(monkeypatch, "PROCESS_GRACE")
    async with open_mcp_host(home) as hosted:
        for number in range(4):
            await hosted.add(scripted("--ignore-term", name=f"S{number}"))
        pids = [int(text(await hosted.call_when_known(f"s{number}.pid"))) for number in range(4)]
        closing = asyncio.create_task(hosted.supervisor.close())
        # For their end it waits twice: after their input was closed, and after they were asked to.
        for _ in range(2):
            await grace.met(4)
            await grace.run_out_again()
        await closing
    for pid in pids:
        await until_ended(pid)


async def test_an_import_adds_and_starts_nothing(hosted: McpHost, scripted: Scripted, tmp_path: Path) -> None:
    marker = tmp_path / "started"
    file = {
        "mcpServers": {
            "touch": {"command": "/bin/sh", "args": ["-c", f"touch {marker}"], "env": {"KEY": "import-secret"}},
            "remote": {"url": "http://127.0.0.1:9/mcp"},
            "odd": {"command": "${workspaceFolder}/x"},
        }
    }
    body = ImportRequest(text=json.dumps(file), origin="Claude Desktop")
    report = await hosted.other_programs.import_file(ME, body)
    assert [each.outcome for each in report.servers] == ["added", "added", "refused"]
    hosted.supervisor.begin()
    assert (await hosted.until("touch", "needs_consent")).source.imported_from == "Claude Desktop"  # type: ignore[union-attr]
    assert (await hosted.view("remote")).state == "disabled"
    assert not marker.exists()
    assert "import-secret" not in (hosted.home / "config.json").read_text()
    again = await hosted.other_programs.import_file(ME, body)
    assert [each.outcome for each in again.servers] == ["known", "known", "refused"]


async def test_each_address_of_a_host_gets_a_name_of_its_own(hosted: McpHost) -> None:
    urls = ("/mcp", "/github/mcp", "/v1/mcp", "/v1/sse", "/github/sse")
    names = [
        (await hosted.admin.add(ME, ServerInput(url=f"https://example.com{url}", enabled=False))).name for url in urls
    ]
    assert names == ["example.com", "example.com github", "example.com 2", "example.com 3", "example.com 4"]
    there = await hosted.admin.add(ME, ServerInput(url="http://127.0.0.1:9/mcp", enabled=False))
    beside = await hosted.admin.add(ME, ServerInput(url="http://127.0.0.1:10/mcp", enabled=False))
    assert (there.name, beside.name) == ("127.0.0.1", "127.0.0.1 10")
    with pytest.raises(PilothouseError, match=r"already a server “127\.0\.0\.1 10”"):
        await hosted.admin.add(ME, ServerInput(url="http://127.0.0.1:10/mcp", name="127.0.0.1 10"))
    with pytest.raises(PilothouseError, match=r"already a server “example\.com”"):
        await hosted.admin.add(ME, ServerInput(url="https://example.com/mcp"))


@pytest.mark.case("SRV-14")
async def test_two_servers_may_not_share_a_name_and_a_name_may_change(hosted: McpHost, scripted: Scripted) -> None:
    view = await hosted.add(scripted(name="Files"))
    with pytest.raises(PilothouseError) as twin:
        await hosted.add(scripted(name="files"))
    assert twin.value.code == "bad_request"
    renamed = await hosted.admin.update(ME, view.id, scripted(name="My Files"))
    assert (renamed.name, renamed.slug) == ("My Files", "my_files")
    assert (await hosted.view("My Files")).id == view.id


async def test_a_secret_typed_anew_restarts_the_server(hosted: McpHost, scripted: Scripted) -> None:
    view = await hosted.add(scripted(env={"TOKEN": "first-secret"}))
    assert "first-secret" in text(await hosted.call_when_known("scripted.env"))
    await hosted.admin.update(ME, view.id, scripted(env={"TOKEN": None}))
    assert "first-secret" in text(await hosted.call("scripted.env"))
    await hosted.admin.update(ME, view.id, scripted(env={"TOKEN": "second-secret"}))
    assert "second-secret" in text(await hosted.call("scripted.env"))


@pytest.mark.parametrize(
    ("body", "said", "fix"),
    [
        (ServerInput(name="X", command="no-such-program-here"), "was not found on this machine", "Install"),
        (ServerInput(name="X", command="/no/such/program"), "There is no program at", "path"),
        (ServerInput(name="X", command="~nobody-here/x"), "Nobody knows the home folder in ~nobody-here/x.", "path"),
        (ServerInput(name="X", command="/bin/cat", cwd="~nobody-here"), "the home folder in ~nobody-here.", "path"),
        (ServerInput(name="X", command=sys.executable, args=("~nobody-here/x.py",)), "there is no file", "path"),
        (TALKING, "does not speak MCP: it wrote “Hello”.", "standard"),
        (ServerInput(name="X", command="/bin/echo", args=("Hi",)), "MCP: it wrote “Hi”.", "standard"),
        # It repeats what it is sent, so that it refuses what this program would refuse.
        (ServerInput(name="X", command="/bin/cat"), "It refused the connection", ""),
        (
            ServerInput(name="X", command="/bin/sh", args=("-c", "echo GITHUB_TOKEN is required >&2; exit 1")),
            "“X” needs its GitHub token.",
            "Give it",
        ),
        (ServerInput(name="X", command="/bin/sh", env={"TOKEN": None}), "“X” needs its token.", "Give it"),
    ],
)
@pytest.mark.slow
async def test_a_bad_command_is_told_in_one_sentence(
    hosted: McpHost, monkeypatch: pytest.MonkeyPatch, body: ServerInput, said: str, fix: str
) -> None:
    connecting = in_hand(monkeypatch, "MCP_CONNECT", 0.5)
    view = await hosted.add(body)
    testing = asyncio.create_task(hosted.admin.test(ME, view.id))
    if body is TALKING:
        await hosted.until_logged(view.id, ": Hello")
        await connecting.run_out_again()
    tested = await testing
    assert not tested.ok
    assert said in tested.message, tested.message
    assert fix in tested.fix
    assert "\n" not in tested.message


@pytest.mark.case("CON-05")
async def test_a_server_is_stopped_without_being_switched_off_and_starts_at_its_next_call(
    hosted: McpHost, scripted: Scripted
) -> None:
    view = await hosted.add(scripted(always_on=True))
    before = int(text(await hosted.call_when_known("scripted.pid")))
    stopped = await hosted.admin.disconnect(ME, view.id)
    assert (stopped.enabled, stopped.state, stopped.label) == (True, "idle", "Idle")
    await until_ended(before)
    after = int(text(await hosted.call("scripted.pid")))
    assert after != before
    assert (await hosted.view("Scripted")).state == "connected"
    assert (
        (await hosted.admin.disconnect(ME, view.id)).state
        == (await hosted.admin.disconnect(ME, view.id)).state
        == "idle"
    )


async def test_a_call_under_way_ends_with_its_server_and_does_not_start_it_again(
    hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    listed = tmp_path / "tools.json"
    listed.write_text(json.dumps([{"name": "sleep", "inputSchema": {}, "annotations": {"readOnlyHint": True}}]))
    view = await hosted.add(scripted("--tools", str(listed), read_only=True))
    await hosted.tools_when_known("scripted.sleep")
    call = asyncio.create_task(hosted.call("scripted.sleep", {"seconds": 60}))
    await hosted.at_work("Scripted")
    await hosted.admin.disconnect(ME, view.id)
    code, message = failure(await call)
    assert (code, "may have been carried out" in message) == ("SERVER_LOST", True)
    assert (await hosted.view("Scripted")).state == "idle"
