"""A connection over its life: how often it is tried, what wakes it, what touches it, and what is told meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pilothouse.mcp.client.missing_keys import Lack
from pilothouse.mcp.packages.pins import Pin
from pilothouse.mcp.servers.consent import Agreed, Consents, look
from pilothouse.mcp.servers.values import KeySources, Values, values_of
from pilothouse.types import limits
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.json import JsonObject
from pilothouse.types.servers import ServerEntry, ServerInput
from tests.mcp.conftest import Scripted
from tests.support.mcp_gateway import Socket
from tests.support.mcp_hosting import McpHost, failure, open_mcp_host, text
from tests.support.waiting import eventually

LOCAL: JsonObject = {
    "id": "one",
    "name": "One",
    "package": {"type": "command", "identifier": "/bin/true"},
    "config": {"args": ["a"], "env": {"A": "1"}, "cwd": "/"},
}
REMOTE: JsonObject = {
    "id": "one",
    "name": "One",
    "package": {"type": "http", "identifier": "https://example.com/mcp"},
    "config": {"headers": {"X-Room": "7"}},
}


ROOTS = '{"jsonrpc":"2.0","id":"r","method":"roots/list"}'


async def states(hosted: McpHost, name: str) -> list[str]:
    """Return the states that a server went through."""
    status = (await hosted.admin.status(ME)).servers
    return [change.state for each in status if each.server == name for change in each.history]


@pytest.mark.case("CON-11", "CON-14", "CON-15", "CON-27", "CON-28")
def test_the_times_and_numbers_are_those_that_were_promised() -> None:
    assert limits.HEALTH_EVERY == 60
    assert limits.REMOTE_BACKOFF == (5.0, 10.0, 20.0, 60.0)
    assert len(limits.LOCAL_BACKOFF) == 3
    assert limits.HEALTHY_AFTER == 10 * 60
    assert limits.IDLE_STOP == 30 * 60


@pytest.mark.case("CON-08", "CON-14", "CON-17")
@pytest.mark.slow
async def test_each_try_waits_as_long_as_its_turn_says_give_or_take_a_quarter(
    hosted: McpHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REMOTE_BACKOFF", (0.01, 0.02, 0.04, 0.4))
    spans: list[tuple[float, float]] = []

    def even(low: float, high: float) -> float:
        spans.append((low, high))
        return 1.0

    monkeypatch.setattr("pilothouse.mcp.servers.connection.random.uniform", even)
    async with Socket().running() as server:
        await hosted.add(ServerInput(name="Far", url=server.url.replace("http", "ws")))
        assert (await hosted.admin.test(ME, "Far")).ok
    began = asyncio.get_running_loop().time()
    await hosted.until("Far", "disconnected")
    assert asyncio.get_running_loop().time() - began > 0.4
    assert spans == [(0.75, 1.25)] * 4
    assert await states(hosted, "Far") == ["idle", "connecting", "connected", "reconnecting", "disconnected"]


@pytest.mark.case("CON-15", "CON-28")
@pytest.mark.slow
async def test_a_server_that_was_healthy_for_long_has_all_its_tries_again(
    hosted: McpHost, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HEALTHY_AFTER", 0.0)
    await hosted.add(scripted())
    await hosted.until("Scripted", "connected")
    for _ in range(len(limits.LOCAL_BACKOFF) + 1):
        assert failure(await hosted.call("scripted.exit", {"code": 3}))[0] == "SERVER_LOST"
    assert text(await hosted.call("scripted.echo", {"text": "still here"})) == "still here"
    assert "error" not in await states(hosted, "Scripted")


@pytest.mark.case("CON-28", "CON-32")
@pytest.mark.slow
async def test_a_retry_by_hand_gives_all_tries_again(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted())
    await hosted.until("Scripted", "connected")
    for _ in range(len(limits.LOCAL_BACKOFF) + 1):
        assert failure(await hosted.call("scripted.exit", {"code": 3}))[0] == "SERVER_LOST"
    await hosted.until("Scripted", "error")
    await hosted.admin.retry(ME, "Scripted")
    await hosted.until("Scripted", "connected")
    for _ in limits.LOCAL_BACKOFF:
        assert failure(await hosted.call("scripted.exit", {"code": 3}))[0] == "SERVER_LOST"
    assert text(await hosted.call("scripted.echo", {"text": "back"})) == "back"


@pytest.mark.case("CON-03", "CON-25", "F-03")
@pytest.mark.slow
async def test_at_the_start_a_server_that_never_answers_keeps_no_other_waiting(home: Path, scripted: Scripted) -> None:
    async with open_mcp_host(home) as hosted:
        for name, options in (("Dead", ("--start", "silent")), ("Quick", ())):
            view = await hosted.add(scripted(*options, name=name), agree=False)
            hosted.supervisor.parts.consents().give(view.id, look(hosted.server(name).entry))
    async with open_mcp_host(home, begin=True) as again:
        await again.until("Quick", "connected")
        assert (await again.view("Dead")).label == "Connecting..."


@pytest.mark.case("CON-04", "CON-22", "CON-23")
@pytest.mark.slow
async def test_what_goes_wrong_while_starting_is_logged_and_stops_nothing_else(
    home: Path, scripted: Scripted, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_mcp_host(home) as hosted:
        await hosted.add(scripted(always_on=True))
        await hosted.add(scripted(name="Odd"), agree=False)
        await hosted.until("Scripted", "connected")
        odd = hosted.server("Odd").id
    # Where processes are written down there is something that is none, and one entry breaks whoever looks at it.
    (home / "cache" / "processes" / "1.json").mkdir()
    looked = Consents.look

    def breaks(consents: Consents, entry: ServerEntry, known: Agreed | None = None, pin: Pin | None = None) -> Agreed:
        if entry.id == odd:
            raise RuntimeError("nobody thought of this")
        return looked(consents, entry, known, pin)

    monkeypatch.setattr(Consents, "look", breaks)
    async with open_mcp_host(home, begin=True) as again:
        await again.until("Scripted", "connected")
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert told == ["what an earlier run left behind could not be looked at", "server Odd could not be looked at"]


@pytest.mark.case("CON-04", "CON-22", "CON-23")
async def test_what_nobody_thought_of_at_one_server_is_logged_told_and_leaves_the_others_alone(
    hosted: McpHost, scripted: Scripted, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(entry: ServerEntry, sources: KeySources, lacks: Sequence[Lack]) -> Values:
        if entry.name == "Odd":
            raise RuntimeError("nobody thought of this")
        return values_of(entry, sources, lacks)

    monkeypatch.setattr("pilothouse.mcp.servers.connecting.values_of", breaks)
    await hosted.add(scripted(name="Odd"))
    await hosted.add(scripted(name="Good"))
    tested = await hosted.admin.test(ME, "Odd")
    assert (tested.ok, tested.message) == (False, "Something went wrong while connecting: nobody thought of this")
    assert text(await hosted.call_when_known("good.echo", {"text": "x"})) == "x"
    assert "server Odd could not be opened" in [each.getMessage() for each in caplog.records if each.exc_info]


@pytest.mark.case("PROTO-07")
async def test_a_server_is_told_its_folders_by_their_addresses(
    hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    record = tmp_path / "record"
    roots = ("~/project", "/srv/data", "file:///srv/more")
    await hosted.add(scripted("--record", str(record), roots=roots))
    await hosted.until("Scripted", "connected")
    asks, answers = ROOTS, '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}'
    await hosted.call("scripted.raw", {"line": f"{asks}\n{answers}"})

    async def told() -> list[str] | None:
        heard = [json.loads(line) for line in record.read_text().splitlines()]
        answer = next((message for message in heard if message.get("id") == "r"), None)
        return [root["uri"] for root in answer["result"]["roots"]] if answer else None

    home = (Path.home() / "project").as_uri()
    assert await eventually(told, "the folders") == [home, "file:///srv/data", "file:///srv/more"]


@pytest.mark.case("CON-25", "SRV-17")
async def test_a_server_that_is_always_on_is_started_with_the_program(
    home: Path, hosted: McpHost, scripted: Scripted
) -> None:
    await hosted.add(scripted(always_on=True))
    await hosted.add(scripted(name="Lazy"))
    for name in ("Scripted", "Lazy"):
        await hosted.until(name, "connected")
    await hosted.supervisor.close()
    async with open_mcp_host(home, begin=True) as again:
        await again.until("Scripted", "connected")
        assert (await again.view("Lazy")).state == "idle"


@pytest.mark.case("CON-26")
async def test_each_call_is_noted_as_the_last_use(hosted: McpHost, scripted: Scripted) -> None:
    await hosted.add(scripted())
    await hosted.until("Scripted", "connected")
    assert (await hosted.view("Scripted")).last_used_at is None
    used: list[float] = []
    for _ in range(2):
        await hosted.call("scripted.echo", {"text": "x"})
        used.append((await hosted.view("Scripted")).last_used_at or 0.0)
    assert 0.0 < used[0] < used[1]


@pytest.mark.case("CON-27")
@pytest.mark.slow
async def test_a_server_may_have_its_own_time_without_a_call(
    hosted: McpHost, scripted: Scripted, often_checked: None
) -> None:
    for name in ("Brief", "Usual"):
        await hosted.add(scripted(name=name))
        await hosted.until(name, "connected")
    pid = text(await hosted.call("brief.pid"))

    def stays(seconds: float) -> Callable[[list[JsonObject]], None]:
        return lambda entries: entries[0]["config"].update(idle_stop=seconds)

    await hosted.file.change(stays(600))
    # What changes how long it stays does not end it.
    assert text(await hosted.call("brief.pid")) == pid
    # A new time counts from the next health check on.
    await hosted.file.change(stays(0.3))
    await hosted.until("Brief", "idle")
    assert (await hosted.view("Usual")).state == "connected"


@pytest.mark.case("CON-20")
@pytest.mark.parametrize(
    ("entry", "change"),
    [
        (LOCAL, {"package": {"type": "command", "identifier": "/bin/false"}}),
        (LOCAL, {"config": {**LOCAL["config"], "args": ["b"]}}),
        (LOCAL, {"config": {**LOCAL["config"], "env": {"A": "2"}}}),
        (LOCAL, {"config": {**LOCAL["config"], "cwd": "/tmp"}}),
        (LOCAL, {"config": {**LOCAL["config"], "sandbox": True}}),
        (LOCAL, REMOTE),
        (REMOTE, {"package": {"type": "http", "identifier": "https://example.com/other"}}),
        (REMOTE, {"config": {"headers": {"X-Room": "8"}}}),
        (REMOTE, {"config": {**REMOTE["config"], "wire": "sse"}}),
        (REMOTE, {"config": {**REMOTE["config"], "subprotocols": ["mcp"]}}),
        (REMOTE, {"config": {**REMOTE["config"], "trusted_certificate": "ab"}}),
        (REMOTE, {"auth_type": "oauth"}),
    ],
)
async def test_whatever_changes_what_is_started_or_reached_makes_another_server_of_it(
    hosted: McpHost, entry: JsonObject, change: JsonObject
) -> None:
    before = await add_only_server(hosted, entry)
    assert await add_only_server(hosted, {**entry, **change}) is not before
    assert not before.current


@pytest.mark.case("CON-19", "CON-20")
@pytest.mark.parametrize(
    "change",
    [
        {"source": {"type": "manual", "url": "elsewhere"}},
        {"config": {**LOCAL["config"], "off_tools": ["echo"]}},
        {"config": {**LOCAL["config"], "times": {"idle": 5}}},
        {"config": {**LOCAL["config"], "always_on": True}},
        {"note": "mine"},
    ],
)
async def test_what_changes_neither_leaves_it_alone(hosted: McpHost, change: JsonObject) -> None:
    before = await add_only_server(hosted, LOCAL)
    assert await add_only_server(hosted, {**LOCAL, **change}) is before
    assert before.current


async def add_only_server(hosted: McpHost, entry: JsonObject) -> Any:
    """Put an entry into the file as the only one, and return the server that it is."""

    def only(entries: list[JsonObject]) -> None:
        entries[:] = [entry]

    await hosted.file.change(only)
    return hosted.server("one")
