"""The servers that a run may use, and the tools that each has for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pilothouse.types.errors import PilothouseError
from pilothouse.types.ports import Tool
from pilothouse.types.selection import Selection, ServerChoice
from pilothouse.types.servers import ServerTool
from pilothouse.types.tool_names import ServerTools

if TYPE_CHECKING:
    from pilothouse.mcp.servers.server import Server
    from pilothouse.mcp.servers.supervisor import Supervisor


async def server_tools(
    selection: Selection | None, supervisor: Supervisor, *, waits: bool = True
) -> tuple[list[ServerTools], tuple[str, ...]]:
    """Return the tools of the servers that are selected, and why some of these cannot be had now.

    Without a selection those that are switched on are asked for what they have; then nobody is waited for. Nor is
    anyone without `waits`: those that are selected have what is known of them.
    """
    supervisor.reconcile()
    servers = list(supervisor.servers.values())
    if selection is None or selection.servers is None:
        return [_found(server, ()) for server in servers if server.offered], ()
    if not waits:
        return [found for choice in selection.servers for found in _as_known(choice, servers)], ()
    asked = [(_named(choice, servers), choice.tools) for choice in selection.servers]
    absent = await _absent([server for server, _ in asked])
    return [_found(server, names) for server, names in asked if server.id not in absent], tuple(absent.values())


def _as_known(choice: ServerChoice, servers: Sequence[Server]) -> list[ServerTools]:
    try:
        return [_found(_named(choice, servers), choice.tools)]
    except PilothouseError:
        return []


def _found(server: Server, names: Sequence[str]) -> ServerTools:
    return ServerTools(server.name, tuple(_chosen(server, names)), server.instructions, named=bool(names))


async def _absent(servers: Sequence[Server]) -> dict[str, str]:
    """Wait for servers side by side; return why some cannot be had now, or raise it when none can."""
    ends = await asyncio.gather(*(server.learned() for server in servers), return_exceptions=True)
    failed = {server.id: (server, end) for server, end in zip(servers, ends, strict=True) if end is not None}
    for _, error in failed.values():
        if not isinstance(error, PilothouseError):
            raise error
    told = {key: f"The server “{server.name}” cannot be used now. {error}" for key, (server, error) in failed.items()}
    if failed and len(failed) == len({server.id for server in servers}):
        codes = {error.code for _, error in failed.values() if isinstance(error, PilothouseError)}
        raise PilothouseError(
            "needs_consent" if codes == {"needs_consent"} else "server_failed", " ".join(told.values())
        )
    return told


def _named(choice: ServerChoice, servers: Iterable[Server]) -> Server:
    wanted = choice.name.strip()
    for server in servers:
        if wanted == server.id or wanted.lower() in (server.name.lower(), server.slug):
            if not server.offered:
                message = f"The server “{server.name}” is switched off or waits for your consent."
                raise PilothouseError("unknown_server", message, fix="Look at it in Settings, MCP.")
            return server
    known = ", ".join(server.name for server in servers) or "none"
    raise PilothouseError("unknown_server", f"There is no server “{wanted}”.", fix=f"Configured servers: {known}.")


def _chosen(server: Server, names: Sequence[str]) -> Sequence[Tool]:
    tools = server.tools()
    if not names:
        return tools
    wanted = {name: _listed(server, name) for name in names}
    by_wire = {tool.spec.name: tool for tool in tools}
    for listed in wanted.values():
        if listed.wire_name not in by_wire:
            why = listed.reason or "It is switched off."
            message = f"The tool {listed.qualified_name} cannot be used now. {why}"
            raise PilothouseError("unknown_server", message, fix="Look at it in Settings, MCP.")
    return [by_wire[wire] for wire in dict.fromkeys(listed.wire_name for listed in wanted.values())]


def _listed(server: Server, name: str) -> ServerTool:
    if (tool := server.tool_named(name)) is not None:
        return tool
    message = f"The server “{server.name}” has no tool “{name}”."
    raise PilothouseError("unknown_server", message, fix="Look at its tools in Settings, MCP.")
