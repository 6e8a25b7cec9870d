"""The tools of a run: the built-in ones first, then those of the servers that it may use, always in one order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pilothouse.mcp.tool_limits import narrowed
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ports import Tool, ToolRequest, ToolSet
from pilothouse.types.selection import ServerChoice
from pilothouse.types.servers import ServerTool
from pilothouse.types.tool_names import counted, in_mode, place

if TYPE_CHECKING:
    from pilothouse.mcp.ports import Offering, Offerings

_GUIDE = (Path(__file__).parent / "guide.md").read_text().strip()
_LEFT_OUT = (Path(__file__).parent / "left_out.md").read_text().strip()


class Toolbox:
    """Finds the tools that a run may use; implements the port `ToolSource`."""

    def __init__(self, built_in: Callable[[ToolRequest], Sequence[Tool]], servers: Offerings) -> None:
        self._built_in = built_in
        self._servers = servers

    async def tools(self, wanted: ToolRequest) -> ToolSet:
        """Return the tools of a selection, or the default ones; the default never waits for a server."""
        selection = wanted.selection
        servers, missing = await self._servers.offerings(), tuple[str, ...]()
        if selection is None or selection.servers is None:
            chosen: list[tuple[Offering, tuple[str, ...]]] = [(server, ()) for server in servers if server.offered]
        else:
            asked = [(_named(choice, servers), choice.tools) for choice in selection.servers]
            absent = await _absent([server for server, _ in asked])
            chosen = [(server, names) for server, names in asked if server.id not in absent]
            missing = tuple(absent.values())
        listed = [tool for server, names in chosen for tool in _chosen(server, names)]
        found = [left for tool in listed if (left := in_mode(tool, wanted.mode)) is not None]
        # By name: a server that lists its tools in another order changes no prompt.
        ordered = {tool.spec.name: tool for tool in sorted(found, key=lambda tool: tool.spec.name)}
        own = sorted(self._built_in(wanted), key=lambda tool: place(tool.spec.name))
        named = {tool.spec.name for server, names in chosen if names for tool in _chosen(server, names)}
        kept, left_out = narrowed(own, tuple(ordered.values()), wanted, named)
        guide = _guide([server for server, _ in chosen], kept, left_out)
        return ToolSet((*own, *kept), guide, left_out, missing)


async def _absent(servers: Sequence[Offering]) -> dict[str, str]:
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


def _named(choice: ServerChoice, servers: Iterable[Offering]) -> Offering:
    wanted = choice.name.strip()
    for server in servers:
        if wanted == server.id or wanted.lower() in (server.name.lower(), server.slug):
            if not server.offered:
                message = f"The server “{server.name}” is switched off or waits for your consent."
                raise PilothouseError("unknown_server", message, fix="Look at it in Settings, MCP.")
            return server
    known = ", ".join(server.name for server in servers) or "none"
    raise PilothouseError("unknown_server", f"There is no server “{wanted}”.", fix=f"Configured servers: {known}.")


def _chosen(server: Offering, names: Sequence[str]) -> list[Tool]:
    tools = list(server.tools())
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


def _listed(server: Offering, name: str) -> ServerTool:
    for tool in server.listed():
        if name in (tool.name, tool.qualified_name, tool.wire_name):
            return tool
    message = f"The server “{server.name}” has no tool “{name}”."
    raise PilothouseError("unknown_server", message, fix="Look at its tools in Settings, MCP.")


def _guide(servers: Sequence[Offering], tools: Sequence[Tool], left_out: Mapping[str, int]) -> str:
    """Return what the system prompt says about the servers' tools: their names, who wrote what, and what is missing."""
    if not tools and not left_out:
        return ""
    lines = [_GUIDE]
    if left_out:
        lines.append(f"\n{_LEFT_OUT.format(servers=counted(left_out))}\n")
    for server in servers:
        own = [tool for tool in tools if tool.server == server.name]
        if not own:
            continue
        lines.append(f"\n## Server “{server.name}”\n")
        if said := server.instructions.strip()[: limits.GUIDE_INSTRUCTIONS_CHARS]:
            quoted = "\n".join(f"> {line}" for line in said.splitlines())
            lines.append(f"It says about itself:\n\n{quoted}\n")
        lines += [f"- {tool.spec.name}: {_first_line(tool.spec.description)}" for tool in own]
    guide = "\n".join(lines)
    return guide if len(guide) <= limits.GUIDE_CHARS else f"{guide[: limits.GUIDE_CHARS]}…"


def _first_line(description: str) -> str:
    line = next(iter(description.strip().splitlines()), "")
    return line if len(line) <= limits.GUIDE_TOOL_CHARS else f"{line[: limits.GUIDE_TOOL_CHARS]}…"
