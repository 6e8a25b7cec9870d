"""Room for local servers: whoever was called keeps its place, and who gets none says whose could be had."""

from __future__ import annotations

import asyncio

import pytest

from pilothouse.types import limits
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.ports import ToolOutput
from tests.mcp.conftest import Scripted
from tests.support.mcp_hosting import McpHost, failure, text
from tests.support.waiting import eventually


async def pid(hosted: McpHost, name: str) -> str:
    return text(await hosted.call_when_known(f"{name}.pid"))


async def added(hosted: McpHost, scripted: Scripted, *names: str) -> dict[str, str]:
    """Add servers, call each once, and return their processes."""
    for name in names:
        await hosted.add(scripted(name=name))
    return {name: await pid(hosted, name) for name in names}


@pytest.mark.case("CON-31")
async def test_a_server_that_was_called_is_never_stopped_for_another_and_the_other_names_it(
    hosted: McpHost, scripted: Scripted
) -> None:
    await hosted.add(scripted(name="three"))
    await hosted.call_when_known("three.echo", {"text": "x"})
    hosted.server("three").connection("c1").rest()
    await hosted.until("three", "idle")
    hosted.most = 2
    before = await added(hosted, scripted, "one", "two")
    code, message = failure(await hosted.call("three.echo", {"text": "x"}))
    assert code == "SERVER_UNAVAILABLE"
    assert message == (
        "“three” is not available. It was not started: 2 local servers run, and no more may at once. "
        "The person can stop one or allow more."
    )
    row = await hosted.view("three")
    assert row.state == "error"
    assert "Could be stopped: “one”, “two”." in row.label
    assert row.fix == "Stop one of them, or allow more in Settings, MCP."
    log = [line.text for line in (await hosted.admin.log(ME, "three")).lines]
    assert any("Could be stopped" in line for line in log) or row.last_error in log
    assert {name: await pid(hosted, name) for name in before} == before
    # Nor is it taken for broken, however often it is tried.
    for _ in range(limits.BREAKER_FAILURES):
        assert "no more may at once" in failure(await hosted.call("three.echo", {"text": "x"}))[1]


@pytest.mark.case("CON-31")
async def test_a_place_that_becomes_free_is_had_at_the_next_call(hosted: McpHost, scripted: Scripted) -> None:
    hosted.most = 1
    await added(hosted, scripted, "one")
    two = await hosted.add(scripted(name="two"))
    assert not (await hosted.admin.test(ME, two.id)).ok
    assert (await hosted.view("two")).state == "error"
    hosted.server("one").connection("c1").rest()
    # What stood in its row is over with its reason.
    await hosted.until("two", "idle")
    assert (await hosted.admin.test(ME, two.id)).ok
    assert text(await hosted.call("two.echo", {"text": "x"})) == "x"


@pytest.mark.case("CON-31")
async def test_a_server_that_is_started_anew_waits_for_its_own_place(hosted: McpHost, scripted: Scripted) -> None:
    hosted.most = 1
    before = await added(hosted, scripted, "one")
    view = await hosted.view("one")
    hosted.supervisor.restart(view.id)
    assert text(await hosted.call("one.echo", {"text": "x"})) == "x"
    assert await pid(hosted, "one") != before["one"]


@pytest.mark.case("CON-31")
async def test_a_server_that_is_always_on_starts_when_there_is_room(hosted: McpHost, scripted: Scripted) -> None:
    hosted.most = 1
    await added(hosted, scripted, "one")
    await hosted.add(scripted(name="always", always_on=True))
    await hosted.until("always", "error")
    hosted.server("one").connection("c1").rest()
    await hosted.until("always", "connected")
    # It gives its place to nobody.
    code, message = failure(await hosted.call("one.echo", {"text": "x"}))
    assert (code, "no more may at once" in message) == ("SERVER_UNAVAILABLE", True)


@pytest.mark.case("CON-31")
@pytest.mark.slow
async def test_servers_that_nobody_called_make_room_for_each_other(hosted: McpHost, scripted: Scripted) -> None:
    """Eight servers are new at once: each is started for its tools, and stopped for the next."""
    hosted.most = 2
    names = [f"s{number}" for number in range(8)]
    for name in names:
        await hosted.add(scripted(name=name))

    async def all_known() -> bool:
        return {f"{name}.echo" for name in names} <= set(await hosted.tools())

    await eventually(all_known, "the tools of all", 40)
    running = [view.name for view in (await hosted.admin.list(ME)).servers if view.state == "connected"]
    assert len(running) <= 2
    logs = [line.text for name in names for line in (await hosted.admin.log(ME, name)).lines]
    assert any("to make room for" in line for line in logs)


@pytest.mark.case("CON-31")
async def test_a_server_that_nobody_called_for_its_idle_time_is_stopped_for_another(
    hosted: McpHost, scripted: Scripted
) -> None:
    hosted.most = 1
    await added(hosted, scripted, "one")
    connection = hosted.server("one").connection("c1")
    assert connection.called_at is not None
    connection.called_at -= limits.IDLE_STOP
    await hosted.add(scripted(name="two"))
    assert text(await hosted.call_when_known("two.echo", {"text": "x"})) == "x"
    assert (await hosted.view("one")).state == "idle"


@pytest.mark.case("CON-31")
async def test_where_all_are_at_work_nobody_is_named(hosted: McpHost, scripted: Scripted) -> None:
    await added(hosted, scripted, "one", "two")
    hosted.server("two").connection("c1").rest()
    await hosted.until("two", "idle")
    hosted.most = 1
    call = asyncio.create_task(hosted.call("one.sleep", {"seconds": 60}))

    async def busy() -> bool:
        return hosted.server("one").connection("c1").busy

    await eventually(busy, "the call to begin")
    assert isinstance(await hosted.call("two.echo", {"text": "x"}), ToolOutput)
    row = await hosted.view("two")
    assert "One local server runs, and no more may at once. All of them are at work." in row.label
    assert row.fix.startswith("Wait until one is done")
    assert not call.done()
    call.cancel()
    await asyncio.wait([call])
