"""`pilothouse mcp export` and `nearby`: a server for another program, and servers on hosts that a person names."""

from __future__ import annotations

from typing import Annotated, get_args

import typer

from pilothouse.cli.options import AsJson, ServerName
from pilothouse.cli.servers import find
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.server_sharing import HostsToLookAt, NearbyServer, OtherProgram

_PROGRAMS: tuple[OtherProgram, ...] = get_args(OtherProgram)


async def export(
    server: ServerName,
    program: Annotated[
        str, typer.Option("--for", metavar="PROGRAM", help=f"One of {', '.join(_PROGRAMS)}.")
    ] = "claude-desktop",
    json: AsJson = False,
) -> int:
    """Print a server as another program's settings take it.

    There is no secret in it: what to fill in is said beside it.
    """
    wanted = next((each for each in _PROGRAMS if each == program), None)
    if wanted is None:
        fix = f"It is one of {', '.join(_PROGRAMS)}."
        raise PilothouseError("bad_request", f"“{program}” is no program that a server can be written for.", fix=fix)
    async with connect_host() as api:
        made = await api.other_programs.export(LOCAL_OWNER, (await find(api, server)).id, program=wanted)
    if json:
        output().json(made)
        return 0
    output().line(made.text)
    aside = messages()
    if made.path:
        aside.line(one_line(f"For {made.path}"), "dim")
    for note in made.notes:
        aside.line(one_line(note), "yellow")
    return 0


async def nearby(
    hosts: Annotated[
        list[str] | None,
        typer.Argument(metavar="HOST…", help="A host, with a port or without; or a URL.", show_default=False),
    ] = None,
    announced: Annotated[
        bool, typer.Option("--announced", help="Also list servers that announce themselves in the local network.")
    ] = False,
    json: AsJson = False,
) -> int:
    """Look for servers on hosts that you name.

    Each is asked at the usual ports and paths; no range is searched, and nothing is added or started.
    """
    async with connect_host() as api:
        found = await api.nearby.look(LOCAL_OWNER, HostsToLookAt(hosts=tuple(hosts or ()), announced=announced))
    if json:
        output().json(found)
        return 0
    rows = [(each.url, each.name, _about(each)) for each in found.servers]
    show_table(output(), ("URL", "name", "what"), rows, none="No MCP server was found.")
    aside = messages()
    for note in found.notes:
        aside.line(one_line(note), "yellow")
    if new := [each for each in found.servers if not each.known_as]:
        aside.line(one_line(f"Add one: pilothouse mcp add {new[0].url}"), "dim")
    return 0


def _about(server: NearbyServer) -> str:
    tools = {None: "tools unknown", 1: "1 tool"}.get(server.tools, f"{server.tools} tools")
    what = "wants a sign-in" if server.needs_sign_in else tools
    return f"{what}; you have it as {server.known_as}" if server.known_as else what
