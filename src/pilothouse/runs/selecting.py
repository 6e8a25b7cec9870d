"""A selection of servers and tools on its way in: what it names must exist."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.types.admin import ServerAdmin
from pilothouse.types.errors import PilothouseError
from pilothouse.types.selection import Selection, ServerChoice
from pilothouse.types.servers import ServerView


def choose(names: Sequence[str]) -> Selection:
    """Return exactly these servers: each by its name, or as NAME:TOOL,TOOL for only some of its tools."""
    return Selection(servers=tuple(map(_choice, names)))


def _choice(text: str) -> ServerChoice:
    name, _, tools = text.partition(":")
    return ServerChoice(name=name.strip(), tools=tuple(tool.strip() for tool in tools.split(",") if tool.strip()))


async def check(selection: Selection | None, servers: ServerAdmin) -> None:
    """Raise one sentence for a server that does not exist, or a tool that its server does not have."""
    if selection is None or not selection.servers:
        return
    known = (await servers.list()).servers
    for choice in selection.servers:
        await _check_tools(choice, find(choice.name, known), servers)


def find(name: str, known: Sequence[ServerView]) -> ServerView:
    """Return the server of this id, name or prefix, whatever case the name is written in."""
    wanted = name.strip().lower()
    for server in known:
        if name == server.id or wanted in (server.name.lower(), server.slug):
            return server
    names = ", ".join(server.slug for server in known)
    raise PilothouseError(
        "unknown_server",
        f"There is no MCP server “{name}”.",
        fix=f"There are: {names}." if names else "Add it first, in Settings or with `pilothouse mcp add`.",
    )


async def _check_tools(choice: ServerChoice, server: ServerView, servers: ServerAdmin) -> None:
    """Look for each tool in the last list; a server that was never reached has none to look in."""
    tools = (await servers.tools(server.id)).tools if choice.tools else ()
    names = {name for tool in tools for name in (tool.name, tool.qualified_name, tool.wire_name)}
    missing = [name for name in choice.tools if name not in names]
    if tools and missing:
        raise PilothouseError(
            "unknown_server",
            f"The MCP server “{server.name}” has no tool “{missing[0]}”.",
            fix=f"`pilothouse mcp tools {server.slug}` lists what it has.",
        )
