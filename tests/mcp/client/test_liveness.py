"""Servers that say nothing while they work: nothing ends a call but its end, its time, and a connection that broke."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection

from pilothouse.mcp.client.channel import Outgoing
from pilothouse.mcp.client.transports.remote import Target
from pilothouse.mcp.client.transports.websocket import WebSocketChannel
from pilothouse.types import limits
from pilothouse.types.servers import ServerInput
from tests.mcp.conftest import Scripted
from tests.support.limits_in_hand import in_hand
from tests.support.mcp_gateway import Socket
from tests.support.mcp_hosting import McpHost, Progress, failure, text
from tests.support.waiting import AT_ONCE, eventually


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that say nothing are asked at once."""
    monkeypatch.setattr(limits, "SIGN_ASKED", 0.1)


@asynccontextmanager
async def stopped(pid: int) -> AsyncIterator[None]:
    """Keep a server from doing anything, as a tool that blocks it does."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.case("TMO-11", "PRF-03")
@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_a_server_at_work_that_says_nothing_is_asked_for_a_sign_and_its_answer_is_one(
    hosted: McpHost, scripted: Scripted, tmp_path: Path, era: str
) -> None:
    record = tmp_path / "record"
    await hosted.add(scripted("--record", str(record), *(("--era", "modern") if era == "modern" else ())))
    await hosted.call_when_known("scripted.echo", {"text": "x"})
    progress = Progress()
    call = asyncio.create_task(hosted.call("scripted.sleep", {"seconds": 60}, progress=progress))

    async def asked() -> bool:
        return progress.signs >= 2

    await eventually(asked, "two signs")
    methods = [json.loads(line).get("method") for line in record.read_text().splitlines()]
    assert methods.count("ping" if era == "handshake" else "server/discover") >= 2
    call.cancel()
    await asyncio.wait([call])


@pytest.mark.case("TMO-11", "PRF-03")
@pytest.mark.slow
async def test_a_tool_that_holds_up_its_own_server_is_waited_for(
    hosted: McpHost, scripted: Scripted, often_checked: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    health, writing = in_hand(monkeypatch, "HEALTH_ANSWER"), in_hand(monkeypatch, "STDIO_WRITE")
    await hosted.add(scripted())
    pid = int(text(await hosted.call_when_known("scripted.pid")))
    progress, until = Progress(), tmp_path / "go on"
    held = hosted.call("scripted.sleep", {"until": str(until), "seconds": 0}, progress=progress)
    call = asyncio.create_task(held)
    await hosted.at_work("Scripted")
    async with stopped(pid):
        told = progress.signs
        # More than its pipe takes: what it does not read is no reason to end what it works on.
        other = asyncio.create_task(hosted.call("scripted.echo", {"text": "x" * 200_000}))
        for _ in range(5):
            await writing.run_out_again()
            health.run_out()
            done, _ = await asyncio.wait([call, other], timeout=2 * limits.HEALTH_EVERY)
            assert not done
        assert progress.signs == told
        until.touch()
    assert text(await call) == "awake"
    assert len(text(await other)) == 200_000
    assert int(text(await hosted.call("scripted.pid"))) == pid


@pytest.mark.slow
async def test_a_call_that_begins_during_a_health_check_is_not_ended_by_it(
    hosted: McpHost, scripted: Scripted, often_checked: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    record, until = tmp_path / "record", tmp_path / "go on"
    health = in_hand(monkeypatch, "HEALTH_ANSWER")
    await hosted.add(scripted("--ignores", "ping", "--record", str(record)))
    await hosted.call_when_known("scripted.echo", {"text": "x"})
    before = record.read_text().count('"ping"')

    async def checking() -> bool:
        return record.read_text().count('"ping"') > before

    await eventually(checking, "a health check")
    call = asyncio.create_task(hosted.call("scripted.sleep", {"until": str(until), "seconds": 0}))
    await hosted.at_work("Scripted")
    await health.run_out_again()
    until.touch()
    assert text(await call) == "awake"


@pytest.mark.case("TMO-11", "PRF-03")
async def test_a_call_ends_at_once_with_the_process_that_worked_on_it(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted())
    pid = int(text(await hosted.call_when_known("scripted.pid")))
    call = asyncio.create_task(hosted.call("scripted.sleep", {"seconds": 60}))
    await hosted.at_work("Scripted")
    os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(AT_ONCE):
        assert failure(await call)[0] == "SERVER_LOST"


@pytest.mark.case("TMO-11", "F-22")
@pytest.mark.slow
async def test_a_websocket_whose_pings_go_unanswered_stays_open_while_a_call_runs() -> None:
    answered = asyncio.Event()

    async def work(connection: ServerConnection) -> None:
        # A server that is busy with the call itself answers no ping.
        connection.transport.pause_reading()
        await answered.wait()
        connection.transport.resume_reading()
        await connection.send(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}))

    arrived: asyncio.Queue[object] = asyncio.Queue()
    async with Socket(instead={"tools/call": work}).running() as server:
        channel = WebSocketChannel(Target(url=server.url), ping=0.1)
        await channel.open(arrived.put_nowait)
        try:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}
            await channel.send(Outgoing(body=json.dumps(body).encode(), id=1, method="tools/call"))
            await asyncio.wait([channel.closed], timeout=0.6)
            assert not channel.closed.done()
            answered.set()
            async with asyncio.timeout(AT_ONCE):
                await arrived.get()
        finally:
            answered.set()
            await channel.close()


@pytest.mark.case("TMO-02", "TMO-01")
async def test_a_server_whose_file_still_has_a_time_for_silence_works_on(hosted: McpHost, scripted: Scripted) -> None:
    body: ServerInput = scripted()
    view = await hosted.add(body)
    raw = json.loads((hosted.home / "config.json").read_text())
    raw["mcps"][0]["config"]["times"] = {"idle": 5, "total": 90}
    (hosted.home / "config.json").write_text(json.dumps(raw))
    assert (await hosted.tools_when_known("scripted.echo"))["scripted.echo"].times_for({}).total == 90
    assert (await hosted.view(view.name)).last_error == ""
