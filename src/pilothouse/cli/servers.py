"""MCP servers by name: finding, choosing and switching them on, and trying whether they answer."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.cli.command import as_typed
from pilothouse.cli.consent import agreed
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.host import selection
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.selection import Selection, ServerChoice
from pilothouse.types.servers import ServersSwitch, ServerTest, ServerView

NO_SERVERS = "There are no MCP servers yet. Add one: pilothouse mcp add --help"


async def find(api: ClientApi, name: str) -> ServerView:
    """Return the server of this name, prefix or id."""
    return selection.find(name, (await api.servers.list(LOCAL_OWNER)).servers)


async def choose_servers(api: ClientApi, names: Sequence[str]) -> Selection | None:
    """Return the selection that was typed, once every server of it may start; None when none was typed."""
    if not names:
        return None
    choices = []
    for choice in selection.choose(names).servers or ():
        server = await find(api, choice.name)
        if not server.enabled:
            fix = f"Switch it on: pilothouse mcp enable {server.slug}"
            raise PilothouseError("unknown_server", f"The MCP server {server.name} is switched off.", fix=fix)
        await agreed(api, server)
        choices.append(ServerChoice(name=server.id, tools=choice.tools))
    return Selection(servers=tuple(choices))


async def switched_on(api: ClientApi, ids: Sequence[str], consent: str | None = None) -> int:
    """Switch servers on, ask for consent where it is needed, and try each, whatever becomes of the others."""
    now = await api.servers.switch(LOCAL_OWNER, ServersSwitch(ids=tuple(ids), enabled=True))
    code = 0
    for server in (server for server in now.servers if server.id in ids):
        try:
            code = max(code, await try_server(api, await agreed(api, server, consent), is_one=len(ids) == 1))
        except PilothouseError as error:
            if len(ids) == 1:
                raise
            messages().line(_of_several(server, f"{error.message} {error.fix}"), "yellow")
            code = 1
    return code


def _of_several(server: ServerView, told: str) -> str:
    """Return what is told about one of several servers, which says whom it is about."""
    return one_line(told if server.name in told else f"{server.name}: {told}")


async def try_server(api: ClientApi, server: ServerView, *, is_one: bool = True) -> int:
    """Say in one sentence how reaching a server went."""
    return tell_test(server, await api.servers.test(LOCAL_OWNER, server.id), is_one=is_one)


def tell_test(server: ServerView, result: ServerTest, *, is_one: bool = True) -> int:
    """Say how reaching a server went, and what to do about it; return the exit code."""
    if result.ok:
        output().line(one_line(result.message), "green")
        return 0
    messages().line(one_line(result.message) if is_one else _of_several(server, result.message), "red")
    if result.fix:
        messages().line(one_line(as_typed(result.fix)))
    if result.needs_sign_in:
        messages().line(f"Sign in: pilothouse mcp sign-in {server.slug}")
    return 1
