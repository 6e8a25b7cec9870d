"""Lists of tools: every shape, page by page, never without an end, and the long way round for gateways."""

from __future__ import annotations

from typing import Any

import pytest

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.tool_lists import ToolListing, list_tools
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from tests.mcp.client.scripted_sessions import open_session


async def listed(*pages: dict[str, Any] | list[Any]) -> ToolListing:
    """List the tools of a server that answers with these pages."""
    answers = iter(pages)

    async def request(method: str, params: JsonObject) -> JsonObject:
        page: dict[str, Any] | list[Any] = next(answers, {"tools": []})
        return page if isinstance(page, dict) else {"items": page}

    return await list_tools(request)


@pytest.mark.case("HND-06", "HND-07", "HND-08", "HND-12", "HND-13")
async def test_lists_of_every_shape_are_read_page_by_page() -> None:
    listing = await listed(
        {"tools": [{"name": "a", "inputSchema": {"title": "A"}}], "nextCursor": "2"},
        {"items": [{"name": "b", "parameters": {"title": "B"}}], "next": "3"},
        {"data": [{"name": "c", "input_schema": {"title": "C"}}], "cursor": 4},
        {"tools": [{"name": "d"}], "next_cursor": "5"},
        [{"name": "e", "description": None}],
    )
    assert [tool["name"] for tool in listing.tools] == list("abcde")
    assert [tool["inputSchema"] for tool in listing.tools] == [
        {"type": "object", "title": "A"},
        {"type": "object", "title": "B"},
        {"type": "object", "title": "C"},
        {"type": "object"},
        {"type": "object"},
    ]
    assert not {"parameters", "input_schema"} & {key for tool in listing.tools for key in tool}
    assert {tool["description"] for tool in listing.tools} == {""}
    assert (listing.pages, listing.cut) == (5, "")


@pytest.mark.case("TOOL-08")
async def test_a_list_that_goes_round_in_circles_ends() -> None:
    listing = await listed(*[{"tools": [{"name": "a"}], "nextCursor": "again"}] * 500)
    assert "circles" in listing.cut
    assert listing.pages == 2


@pytest.mark.case("TOOL-08")
@pytest.mark.slow
async def test_a_list_without_an_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LIST_TOOLS", 100)
    monkeypatch.setattr(limits, "LIST_PAGES", 5)
    monkeypatch.setattr(limits, "LIST_BYTES", 100_000)
    many = await listed({"tools": [{"name": f"t{number}"} for number in range(5000)]})
    assert (len(many.tools), "more than 100 tools" in many.cut) == (100, True)
    pages = [{"tools": [{"name": f"t{number}"}], "nextCursor": str(number)} for number in range(50)]
    assert "more than 5 pages" in (await listed(*pages)).cut
    heavy = await listed({"tools": [{"name": "t", "description": "x" * 40_000}] * 10})
    assert (len(heavy.tools), bool(heavy.cut)) == (2, True)


@pytest.mark.case("HND-09")
async def test_a_list_of_no_known_shape_is_noted() -> None:
    listing = await listed({"functions": []})
    assert not listing.tools
    assert any("unexpected shape" in note for note in listing.notes)


@pytest.mark.case("HND-10")
async def test_a_gateway_without_tools_is_asked_server_by_server_and_page_by_page() -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    async def request(method: str, params: JsonObject) -> JsonObject:
        asked.append((method, params))
        if method == "servers/list":
            return {"servers": [{"name": "one"}, "two"]}
        if params.get("server") == "one" and "cursor" not in params:
            return {"tools": [{"name": "one_first"}], "nextCursor": "2"}
        return {"tools": [{"name": f"{params['server']}_last"}] if "server" in params else []}

    listing = await list_tools(request)
    assert [tool["name"] for tool in listing.tools] == ["one_first", "one_last", "two_last"]
    assert asked == [
        ("tools/list", {}),
        ("servers/list", {}),
        ("tools/list", {"server": "one"}),
        ("tools/list", {"server": "one", "cursor": "2"}),
        ("tools/list", {"server": "two"}),
    ]


@pytest.mark.case("HND-11")
async def test_a_list_that_never_comes_is_told_with_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (limits.LIST_TIMEOUT, limits.SERVERS_LIST_TIMEOUT) == (15.0, 10.0)
    monkeypatch.setattr(limits, "LIST_TIMEOUT", 0.1)
    async with open_session("--list-delay", 30) as talked:
        with pytest.raises(ChannelError, match=r"It did not list its tools within 0\.1 s\."):
            await talked.session.list_tools()
