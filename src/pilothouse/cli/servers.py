"""`pilothouse mcp`: list, add, edit, remove, enable, disable and test."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.cli.consent import agreed
from pilothouse.cli.forms import require_change
from pilothouse.cli.server_form import ServerForm
from pilothouse.cli.server_input import changed_server, new_server
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.runs import selecting
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.paging import whole
from pilothouse.types.servers import ServerPatch, ServersSwitch, ServerView

NO_SERVERS = "There are no MCP servers yet. Add one: pilothouse mcp add --help"


async def find(api: ClientApi, name: str) -> ServerView:
    """Return the server of this name, prefix or id."""
    return selecting.find(name, (await api.servers(LOCAL_OWNER)).servers)


async def list_servers(*, as_json: bool) -> int:
    """List the servers and the state of each."""
    async with connect_host() as api:
        servers = await api.servers(LOCAL_OWNER)
    out, aside = output(), messages()
    if as_json:
        out.json(servers)
        return 0
    # What a label says behind the colon stands below the table, with what to do.
    rows = [(one.slug, one.name, one.label.partition(":")[0], one.address) for one in servers.servers]
    if rows:
        show_table(out, ("prefix", "name", "state", "command or URL"), rows)
    else:
        aside.line(NO_SERVERS)
    for one in servers.servers:
        _tell_trouble(one)
    if servers.problem is not None:
        place = f", line {servers.problem.line}" if servers.problem.line else ""
        aside.line(f"{servers.problem.file}{place}: {servers.problem.message}", "yellow")
    return 0


def _tell_trouble(one: ServerView) -> None:
    """Say what waits for the person, what to do about it, and what looks odd."""
    aside = messages()
    for warning in one.warnings:
        aside.line(f"{one.slug}: {one_line(warning)}", "yellow")
    if one.consent is not None:
        aside.line(f"{one.slug}: waits for your consent. Look at it: pilothouse mcp enable {one.slug}", "yellow")
    elif one.last_error and one.state in ("error", "disconnected", "reconnecting"):
        aside.line(f"{one.slug}: {one_line(f'{one.last_error} {one.fix}')}", "yellow")
    if one.changed_tools or one.quarantined_tools:
        count = one.changed_tools + one.quarantined_tools
        wait = "1 tool waits" if count == 1 else f"{count} tools wait"
        aside.line(f"{one.slug}: {wait} for a look: pilothouse mcp tools {one.slug}", "yellow")
    if one.about_change is not None and not one.about_change.refused:
        said = "says something else about itself than before"
        aside.line(f"{one.slug}: {said}. Look at it: pilothouse mcp about {one.slug}", "yellow")


async def add(target: Sequence[str] | None, form: ServerForm) -> int:
    """Add a server, ask for consent where it is needed, and try it."""
    body = new_server(target or (), form)
    async with connect_host() as api:
        made = await api.add_server(LOCAL_OWNER, body)
        output().line(made.slug)
        if kept := [slot for slot in made.secret_slots if slot not in (form.secret or ())]:
            messages().line(one_line(f"Kept as a secret: {', '.join(kept)}. Your shell may remember what you typed."))
        for warning in made.warnings:
            messages().line(one_line(warning), "yellow")
        return await _try(api, await agreed(api, made))


async def edit(name: str, form: ServerForm) -> int:
    """Change what was given, keep the rest, and try the server as it is now."""
    require_change(form, "pilothouse mcp edit")
    async with connect_host() as api:
        now = await find(api, name)
        changed = await api.update_server(LOCAL_OWNER, now.id, changed_server(now, form))
        output().line(f"{changed.slug}: {one_line(changed.address)}")
        changed = await agreed(api, changed)
        if not changed.enabled:
            messages().line(f"It is switched off. Switch it on: pilothouse mcp enable {changed.slug}")
            return 0
        return await _try(api, changed)


async def remove(name: str) -> int:
    """Stop and remove a server."""
    async with connect_host() as api:
        server = await find(api, name)
        await api.delete_server(LOCAL_OWNER, server.id)
    messages().line(f"Removed {one_line(server.name)} and every secret kept for it.")
    return 0


async def enable(names: Sequence[str], tools: Sequence[str], consent: str | None) -> int:
    """Switch servers on, or tools of one; ask for consent where it is needed."""
    if len(names) > 1 and (tools or consent):
        raise PilothouseError("bad_request", "Tools and fingerprints are of one server.", fix="Name that server alone.")
    async with connect_host() as api:
        found = [await find(api, name) for name in names]
        if tools:
            return await _switch_tools(api, found[0], tools, on=True)
        return await switched_on(api, [server.id for server in found], consent)


async def switched_on(api: ClientApi, ids: Sequence[str], consent: str | None = None) -> int:
    """Switch servers on, ask for consent where it is needed, and try each, whatever becomes of the others."""
    now = await api.switch_servers(LOCAL_OWNER, ServersSwitch(ids=tuple(ids), enabled=True))
    code = 0
    for server in (server for server in now.servers if server.id in ids):
        try:
            code = max(code, await _try(api, await agreed(api, server, consent), is_one=len(ids) == 1))
        except PilothouseError as error:
            if len(ids) == 1:
                raise
            messages().line(_of_several(server, f"{error.message} {error.fix}"), "yellow")
            code = 1
    return code


async def disable(name: str, tools: Sequence[str]) -> int:
    """Switch a server off, or tools of it."""
    async with connect_host() as api:
        server = await find(api, name)
        if tools:
            return await _switch_tools(api, server, tools, on=False)
        server = await api.patch_server(LOCAL_OWNER, server.id, ServerPatch(enabled=False))
    output().line(f"{server.slug}: {one_line(server.label)}")
    return 0


async def stop(name: str) -> int:
    """Stop a server that stays switched on."""
    async with connect_host() as api:
        server = await api.disconnect_server(LOCAL_OWNER, (await find(api, name)).id)
    output().line(f"{server.slug}: {one_line(server.label)}")
    return 0


async def _switch_tools(api: ClientApi, server: ServerView, tools: Sequence[str], *, on: bool) -> int:
    listed = await whole(lambda page: api.server_tools(LOCAL_OWNER, server.id, page))
    known = {tool.name for tool in listed.tools}
    for name in tools:
        if known and name not in known:
            fix = f"It has: {', '.join(sorted(known))}."
            raise PilothouseError("unknown_server", f"{server.name} has no tool “{name}”.", fix=fix)
    off = set(server.settings.off_tools)
    off = off - set(tools) if on else off | set(tools)
    await api.patch_server(LOCAL_OWNER, server.id, ServerPatch(off_tools=tuple(sorted(off))))
    output().line(f"{server.slug}: off are {', '.join(sorted(map(one_line, off))) or 'none'}")
    return 0


async def test(name: str, consent: str | None) -> int:
    """Connect to a server and ask for its tools."""
    async with connect_host() as api:
        return await _try(api, await agreed(api, await find(api, name), consent))


def _of_several(server: ServerView, told: str) -> str:
    """Return what is told about one of several servers, which says whom it is about."""
    return one_line(told if server.name in told else f"{server.name}: {told}")


async def _try(api: ClientApi, server: ServerView, *, is_one: bool = True) -> int:
    """Say in one sentence how reaching a server went."""
    result = await api.test_server(LOCAL_OWNER, server.id)
    if result.ok:
        output().line(one_line(result.message), "green")
        return 0
    messages().line(one_line(result.message) if is_one else _of_several(server, result.message), "red")
    if result.fix:
        messages().line(one_line(result.fix))
    return 1
