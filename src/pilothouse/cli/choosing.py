"""The servers that `run` and `chat` are told to use."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.cli.consent import agreed
from pilothouse.cli.servers import find
from pilothouse.runs import selecting
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import ClientApi
from pilothouse.types.selection import Selection, ServerChoice


async def choose_servers(api: ClientApi, names: Sequence[str]) -> Selection | None:
    """Return the selection that was typed, once every server of it may start; None when none was typed."""
    if not names:
        return None
    choices = []
    for choice in selecting.choose(names).servers or ():
        server = await find(api, choice.name)
        if not server.enabled:
            fix = f"Switch it on: pilothouse mcp enable {server.slug}"
            raise PilothouseError("unknown_server", f"The MCP server {server.name} is switched off.", fix=fix)
        await agreed(api, server)
        choices.append(ServerChoice(name=server.id, tools=choice.tools))
    return Selection(servers=tuple(choices))
