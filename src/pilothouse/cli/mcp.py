"""`pilothouse mcp`: the servers, their tools, what they wrote and how they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pilothouse.cli.command import as_typed
from pilothouse.cli.consent import agreed
from pilothouse.cli.option_order import OptionsOnBothSides
from pilothouse.cli.options import AsJson, ConsentTo, ServerName, command, given, new_app, require_change
from pilothouse.cli.prompting import someone_is_there, yes
from pilothouse.cli.registries import app as registries
from pilothouse.cli.registries import search
from pilothouse.cli.server_check import check
from pilothouse.cli.server_facts import logs, status
from pilothouse.cli.server_import import import_file
from pilothouse.cli.server_input import ServerForm, changed_server
from pilothouse.cli.server_key_questions import try_with_keys
from pilothouse.cli.server_keys import Forget, KeyForm, is_missing, refuse_unknown, show_keys, with_keys, without_keys
from pilothouse.cli.server_proposals import ANYTHING, AnyForm, named_server, settled
from pilothouse.cli.server_sharing import export, nearby
from pilothouse.cli.server_tools import call, show_change, tools
from pilothouse.cli.server_update import updated
from pilothouse.cli.servers import NO_SERVERS, find, switched_on, try_server
from pilothouse.cli.sign_in import client_document_of, sign_in, sign_out
from pilothouse.cli.tables import show_table, tell_problem
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.paging import whole
from pilothouse.types.servers import AboutDecided, ServerPatch, ServerView

app = new_app()

ServerNames = Annotated[
    list[str], typer.Argument(metavar="SERVER…", help="The server's name, prefix or id; or several.")
]
Tools = Annotated[list[str] | None, given("--tool", help="Only this tool; may be given more than once.")]


@command(app, "list")
async def list_servers(json: AsJson = False) -> int:
    """List the servers and the state of each."""
    async with connect_host() as api:
        servers = await api.servers.list(LOCAL_OWNER)
    if json:
        output().json(servers)
        return 0
    # What a label says behind the colon stands below the table, with what to do.
    rows = [(one.slug, one.name, one.label.partition(":")[0], one.address) for one in servers.servers]
    show_table(output(), ("prefix", "name", "state", "command or URL"), rows, none=NO_SERVERS)
    for one in servers.servers:
        _tell_trouble(one)
    tell_problem(servers.problem)
    return 0


def _tell_trouble(one: ServerView) -> None:
    """Say what waits for the person, what to do about it, and what looks odd."""
    aside = messages()
    for warning in one.warnings:
        aside.line(f"{one.slug}: {one_line(warning)}", "yellow")
    if one.consent is not None:
        aside.line(f"{one.slug}: waits for your consent. Look at it: pilothouse mcp enable {one.slug}", "yellow")
    elif one.state == "needs_sign_in":
        aside.line(f"{one.slug}: {one_line(one.last_error)} Sign in: pilothouse mcp sign-in {one.slug}", "yellow")
    elif one.last_error and one.state in ("error", "disconnected", "reconnecting"):
        aside.line(f"{one.slug}: {one_line(as_typed(f'{one.last_error} {one.fix}'))}", "yellow")
    if one.changed_tools or one.quarantined_tools:
        count = one.changed_tools + one.quarantined_tools
        wait = "1 tool waits" if count == 1 else f"{count} tools wait"
        aside.line(f"{one.slug}: {wait} for a look: pilothouse mcp tools {one.slug}", "yellow")
    if one.about_change is not None and not one.about_change.refused:
        said = "says something else about itself than before"
        aside.line(f"{one.slug}: {said}. Look at it: pilothouse mcp about {one.slug}", "yellow")


@command(app, cls=OptionsOnBothSides, context_settings={"allow_interspersed_args": False})
async def add(
    target: Annotated[
        list[str] | None,
        typer.Argument(metavar="ANYTHING", help=ANYTHING, show_default=False),
    ] = None,
    *,
    form: AnyForm,
) -> int:
    """Add a server, print its prefix and try it.

    It takes a command with its arguments, a URL, the name of a package, an image or a registry's entry, a line or a
    link for another program, JSON, the path of a bundle or a JSON file, and `-` for what is piped in. Options come
    before a command, and before or after anything else. A name may stand before it too: `NAME -- COMMAND…`, or `NAME
    URL`. A local command is shown whole and starts only after you agree; without a terminal to ask in, it ends with 3
    and says how to agree.
    """
    named = named_server(target or (), form)
    async with connect_host() as api:
        body, later = await settled(api, named, form)
        made = await api.servers.add(LOCAL_OWNER, body)
        output().line(made.slug)
        if kept := [slot for slot in made.secret_slots if slot not in (form.secret or ())]:
            messages().line(one_line(f"Kept as a secret: {', '.join(kept)}. Your shell may remember what you typed."))
        for warning in made.warnings:
            messages().line(one_line(warning), "yellow")
        return await try_with_keys(api, await agreed(api, made), later)


@command(app)
async def edit(server: ServerName, *, form: ServerForm) -> int:
    """Change what is given of a server, and try it.

    A changed command needs your consent again.
    """
    require_change(form, "pilothouse mcp edit")
    async with connect_host() as api:
        now = await find(api, server)
        body, unknown = with_keys(changed_server(now, form), now.keys, form)
        refuse_unknown(now, unknown)
        changed = await api.servers.update(LOCAL_OWNER, now.id, body)
        output().line(f"{changed.slug}: {one_line(changed.address)}")
        changed = await agreed(api, changed)
        if not changed.enabled:
            messages().line(f"It is switched off. Switch it on: pilothouse mcp enable {changed.slug}")
            return 0
        return await try_with_keys(api, changed)


command(app, cls=OptionsOnBothSides, context_settings={"allow_interspersed_args": False})(check)


@command(app)
async def keys(server: ServerName, forget: Forget = None, json: AsJson = False, *, form: KeyForm) -> int:
    """Show a server's keys, and give those that are missing.

    In a terminal each missing one is asked for by its label; nobody needs to know the variable that it goes into.
    """
    async with connect_host() as api:
        now = await find(api, server)
        if json:
            output().json(now.keys)
            return 0
        body, unknown = with_keys(changed_server(now, ServerForm()), now.keys, form)
        refuse_unknown(now, unknown)
        given = any(body.keys.values()) or bool(forget)
        if given:
            body = without_keys(now, body, forget or ())
            now = await agreed(api, await api.servers.update(LOCAL_OWNER, now.id, body))
        show_keys(now)
        if not now.enabled or not (given or (someone_is_there(messages()) and is_missing(now))):
            return 0
        return await try_with_keys(api, now)


@command(app)
async def remove(name: ServerName) -> int:
    """Stop and remove a server with every secret kept for it."""
    async with connect_host() as api:
        server = await find(api, name)
        await api.servers.delete(LOCAL_OWNER, server.id)
    messages().line(f"Removed {one_line(server.name)} and every secret kept for it.")
    return 0


@command(app)
async def enable(names: ServerNames, tool: Tools = None, consent: ConsentTo = None) -> int:
    """Switch servers on, or some tools of one."""
    if len(names) > 1 and (tool or consent):
        raise PilothouseError("bad_request", "Tools and fingerprints are of one server.", fix="Name that server alone.")
    async with connect_host() as api:
        found = [await find(api, name) for name in names]
        if tool:
            return await _switch_tools(api, found[0], tool, on=True)
        return await switched_on(api, [server.id for server in found], consent)


@command(app)
async def disable(name: ServerName, tool: Tools = None) -> int:
    """Switch a server off, or some of its tools."""
    async with connect_host() as api:
        server = await find(api, name)
        if tool:
            return await _switch_tools(api, server, tool, on=False)
        server = await api.servers.patch(LOCAL_OWNER, server.id, ServerPatch(enabled=False))
    output().line(f"{server.slug}: {one_line(server.label)}")
    return 0


async def _switch_tools(api: ClientApi, server: ServerView, tools: Sequence[str], *, on: bool) -> int:
    listed = await whole(lambda page: api.servers.tools(LOCAL_OWNER, server.id, page))
    known = {tool.name for tool in listed.tools}
    for name in tools:
        if known and name not in known:
            fix = f"It has: {', '.join(sorted(known))}."
            raise PilothouseError("unknown_server", f"{server.name} has no tool “{name}”.", fix=fix)
    off = set(server.settings.off_tools)
    off = off - set(tools) if on else off | set(tools)
    await api.servers.patch(LOCAL_OWNER, server.id, ServerPatch(off_tools=tuple(sorted(off))))
    output().line(f"{server.slug}: off are {', '.join(sorted(map(one_line, off))) or 'none'}")
    return 0


@command(app)
async def update(name: ServerName, consent: ConsentTo = None) -> int:
    """Look for a newer version of a server's package.

    What changes is shown first, and it is taken only after you agree. If the newer one does not start, the one that was
    there goes on.
    """
    async with connect_host() as api:
        return await updated(api, await find(api, name), consent)


# The same, for those who think of the connection.
@command(app, "disconnect", hidden=True)
@command(app)
async def stop(name: ServerName) -> int:
    """Stop a server but leave it on: its next call starts it."""
    async with connect_host() as api:
        server = await api.servers.disconnect(LOCAL_OWNER, (await find(api, name)).id)
    output().line(f"{server.slug}: {one_line(server.label)}")
    return 0


@command(app, "test")
async def try_named(name: ServerName, consent: ConsentTo = None) -> int:
    """Connect to a server and ask for its tools.

    It says how that went, or what to try.
    """
    async with connect_host() as api:
        return await try_server(api, await agreed(api, await find(api, name), consent))


command(app)(tools)


@command(app)
async def about(name: ServerName) -> int:
    """Show what a server says of itself; decide on a change.

    Until you accept the new words models are told the old ones.
    """
    aside = messages()
    async with connect_host() as api:
        server = await find(api, name)
        change = server.about_change
        if change is None:
            aside.line(f"{one_line(server.name)} says about itself what it said before.")
            return 0
        show_change(change.approved, change.now, aside)
        if not someone_is_there(aside):
            raise PilothouseError("needs_consent", "New words of a server are accepted at a terminal, or in the page.")
        accept = await yes("Tell models the new words?", aside)
        await api.servers.decide_about(
            LOCAL_OWNER, server.id, AboutDecided(fingerprint=change.fingerprint, accept=accept)
        )
    aside.line("Models are told the new words." if accept else "Models are told what it said before.")
    return 0


command(app, "sign-in")(sign_in)
command(app, "sign-out")(sign_out)
command(app, "client-document")(client_document_of)
command(app)(call)
command(app)(status)
command(app)(logs)
command(app, "import")(import_file)
command(app)(search)
app.add_typer(registries, name="registries")
command(app)(export)
command(app)(nearby)
