"""The tools of servers as a list in pages."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.mcp.names import telling
from pilothouse.mcp.server import Server
from pilothouse.types.paging import Page, window
from pilothouse.types.servers import ServerTool, ToolList


def listed(every: Sequence[Server], chosen: Sequence[Server], page: Page) -> ToolList:
    """Return a page of the tools of some servers; only those on it are looked at for names of all servers' tools."""
    kept = [server.around.catalogue.kept(server.entry).tools for server in chosen]
    sides = list(zip(chosen, kept, strict=True))
    keys = [f"{server.id} {each.tool.get('name')}" for server, tools in sides for each in tools]
    first, last, rest = window(keys, page)
    names = telling(name for server in every for name in server.names())
    found: list[ServerTool] = []
    begin = 0
    for server, tools in sides:
        part = slice(max(0, first - begin), max(0, last - begin))
        if part.start < min(part.stop, len(tools)):
            found += server.listed(names, part)
        begin += len(tools)
    return ToolList(tools=tuple(found), next=rest)
