"""How the tools of a server are learned, seen from its log, its last error and its count of tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.servers import ServerInput
from tests.mcp.conftest import Scripted
from tests.support.mcp_gateway import Brain, Streamable
from tests.support.mcp_hosting import McpHost
from tests.support.tiny_http import TinyHttp
from tests.support.waiting import eventually


class Listing(Brain):
    """Answers tools/list with one page after the other."""

    def __init__(self, *pages: dict[str, Any]) -> None:
        super().__init__()
        self._pages = pages

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        answer = super().answer(message)
        if answer is not None and message["method"] == "tools/list":
            answer["result"] = self._pages[int(message["params"].get("cursor", 0))]
        return answer


def tools(first: int, last: int) -> list[dict[str, Any]]:
    return [{"name": f"tool_{number}", "inputSchema": {}} for number in range(first, last)]


async def log(hosted: McpHost, name: str) -> list[str]:
    """Return the lines of a server's log."""
    return [line.text for line in (await hosted.admin.log(ME, name)).lines]


@pytest.mark.case("HND-06", "HND-16", "HND-17")
async def test_the_log_tells_the_handshake_the_first_page_every_cursor_and_the_total(hosted: McpHost) -> None:
    pages = {"tools": tools(0, 20), "nextCursor": "1"}, {"tools": tools(20, 40), "nextCursor": "2"}
    async with TinyHttp(Streamable(brain=Listing(*pages, {"tools": tools(40, 44)}))) as server:
        await hosted.add(ServerInput(name="Far", url=f"{server.url}/mcp"))
        tested = await hosted.admin.test(ME, "Far")
        assert (tested.ok, tested.tools) == (True, 44)
        told = await log(hosted, "Far")
    wanted = ("initialize OK", "tools/list", "next page", "44 tools")
    assert [line for line in told if line.startswith(wanted)][:5] == [
        "initialize OK: gateway 1, protocol 2025-11-25",
        "tools/list answers with nextCursor, tools",
        "next page at '1'",
        "next page at '2'",
        "44 tools in 3 pages",
    ]


@pytest.mark.case("HND-09")
async def test_a_list_of_no_known_shape_is_told_in_the_servers_log(hosted: McpHost) -> None:
    async with TinyHttp(Streamable(brain=Listing({"functions": [], "version": 2}))) as server:
        await hosted.add(ServerInput(name="Far", url=f"{server.url}/mcp"))
        assert (await hosted.admin.test(ME, "Far")).tools == 0
        assert "an unexpected shape of tools/list: functions, version" in await log(hosted, "Far")


@pytest.mark.case("HND-11", "CON-24")
@pytest.mark.slow
async def test_a_list_that_does_not_come_is_the_servers_last_error(
    hosted: McpHost, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LIST_TIMEOUT", 0.2)
    await hosted.add(scripted("--ignores", "tools/list"))
    view = await hosted.until("Scripted", "error")
    assert view.last_error == "It did not list its tools within 0.2 s."


@pytest.mark.case("HND-11", "CON-24")
async def test_servers_that_a_gateway_does_not_list_are_its_last_error(
    hosted: McpHost, scripted: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SERVERS_LIST_TIMEOUT", 0.2)
    nothing = tmp_path / "tools.json"
    nothing.write_text("[]")
    await hosted.add(scripted("--tools", str(nothing), "--ignores", "servers/list"))
    view = await hosted.until("Scripted", "connected")
    assert view.last_error == "It did not list its servers within 0.2 s."


@pytest.mark.case("HND-18", "CON-12")
async def test_a_health_check_by_the_list_of_tools_refreshes_their_count(
    hosted: McpHost, scripted: Scripted, tmp_path: Path, often_checked: None
) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(tools(0, 2)))
    await hosted.add(scripted("--era", "modern", "--tools", str(file)))
    assert (await hosted.until("Scripted", "connected")).label == "Connected (2 tools)"
    file.write_text(json.dumps(tools(0, 3)))

    async def counted() -> bool:
        view = await hosted.view("Scripted")
        return view.label == "Connected (3 tools)" and view.last_health_check is not None

    await eventually(counted, "a health check that brings the new count")


@pytest.mark.case("CON-12", "CON-07")
async def test_a_server_that_knows_the_ping_is_not_asked_for_its_tools_again(
    hosted: McpHost, scripted: Scripted, tmp_path: Path, often_checked: None
) -> None:
    record = tmp_path / "record"
    await hosted.add(scripted("--record", str(record)))

    async def asked() -> list[str] | None:
        lines = record.read_text().splitlines() if record.exists() else []
        methods = [json.loads(line).get("method") for line in lines]
        return methods if methods.count("ping") >= 2 else None

    methods = await eventually(asked, "two health checks")
    assert methods.count("tools/list") == 1
    assert (await hosted.view("Scripted")).last_health_check is not None


@pytest.mark.case("HND-14")
async def test_tools_are_listed_for_one_server_or_all_and_the_servers_are_asked_once(
    hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    records = {name: tmp_path / name for name in ("one", "two")}
    for name, record in records.items():
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps([{"name": f"only_{name}", "inputSchema": {}}]))
        await hosted.add(scripted("--tools", str(file), "--record", str(record), name=name))
        await hosted.until(name, "connected")
    for _ in range(3):
        every = (await hosted.admin.all_tools(ME)).tools
        assert [tool.qualified_name for tool in every] == ["one.only_one", "two.only_two"]
        assert [tool.name for tool in (await hosted.admin.tools(ME, "two")).tools] == ["only_two"]
        assert {"one.only_one", "two.only_two"} <= (await hosted.tools()).keys()
    assert [record.read_text().count('"tools/list"') for record in records.values()] == [1, 1]


async def test_a_tool_that_needs_tasks_is_set_aside_with_the_reason(
    hosted: McpHost, scripted: Scripted, tmp_path: Path
) -> None:
    listed = tmp_path / "tools.json"
    kinds = {"plain": None, "either": {"taskSupport": "optional"}, "slow": {"taskSupport": "required"}}
    listed.write_text(json.dumps([{"name": name, "inputSchema": {}, "execution": kinds[name]} for name in kinds]))
    view = await hosted.add(scripted("--tools", str(listed)))
    await hosted.tools_when_known("scripted.plain")
    found = {tool.name: (tool.state, tool.reason) for tool in (await hosted.admin.tools(ME, view.id)).tools}
    assert found["plain"] == found["either"] == ("offered", "")
    assert found["slow"] == ("quarantined", "It can only be called as a task, and tasks are not there yet.")
