"""`pilothouse mcp search` and `pilothouse mcp registries`: finding servers, and where they are looked for."""

from __future__ import annotations

from typing import Annotated

import typer

from pilothouse.cli.command import perform
from pilothouse.cli.options import AsJson, command, new_app
from pilothouse.cli.prompting import read_secret
from pilothouse.cli.tables import counted, show_table, when
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.registries import FoundServer, FoundServers, RegistryInput, RegistryKey, RegistryView

app = new_app("List, add and remove registries to search in.")
# What is shown at a time.
SHOWN = 10

RegistryName = Annotated[str, typer.Argument(metavar="NAME", help="The registry's id or name.")]


async def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS…", help="What the server is for, or its name.")],
    registry: Annotated[
        str, typer.Option("--registry", metavar="NAME", help="Search in this one: official, smithery, or your own.")
    ] = "all",
    page: Annotated[int, typer.Option("--page", min=1, help="Ten are shown at a time; which ten.")] = 1,
    json: AsJson = False,
) -> int:
    """Search registries for servers.

    Nothing is added or started. `pilothouse mcp add` takes a name from the list, or what would run.
    """
    async with connect_host() as api:
        found = await api.registries.search(LOCAL_OWNER, " ".join(words), registry)
        if json:
            output().json(found)
            return 0
        _show(found, page)
    return 0


def _show(found: FoundServers, page: int) -> None:
    aside, first = messages(), SHOWN * (page - 1)
    shown = found.servers[first : first + SHOWN]
    head = ("name", "from", "verified", "uses", "version", "date", "what would run")
    show_table(output(), head, [_row(one) for one in shown], none="Nothing was found." if page == 1 else "No more.")
    for one in shown:
        for warning in (*_status(one), *one.warnings):
            aside.line(one_line(f"{one.name}: {warning}"), "yellow")
    for note in found.notes:
        aside.line(one_line(note), "yellow")
    if len(found.servers) > first + SHOWN:
        last = first + len(shown)
        aside.line(f"{first + 1} to {last} of {found.total:,}; the next: --page {page + 1}", "dim")


def _row(one: FoundServer) -> tuple[str, ...]:
    return (
        one.name,
        ", ".join(one.registries),
        "yes" if one.verified else "",
        f"{one.uses:,}" if one.uses is not None else "",
        one.version,
        one.updated_at[:10],
        "; ".join(one.runs) or one.description,
    )


def _status(one: FoundServer) -> tuple[str, ...]:
    if one.status == "active":
        return ()
    said = "deprecated: it is not to be used any more" if one.status == "deprecated" else "deleted by its registry"
    return (f"{said}. {one.status_note}".strip(),)


@app.callback(invoke_without_command=True)
def registries(context: typer.Context) -> None:
    """List, add and remove the registries to search in."""
    if context.invoked_subcommand is None:
        perform(list_registries)


@command(app, "list")
async def list_registries(json: AsJson = False) -> int:
    """List the registries, and how the copy of each stands."""
    async with connect_host() as api:
        found = (await api.registries.list(LOCAL_OWNER)).registries
    if json:
        output().json(found)
        return 0
    rows = [(one.id, one.name, _copy(one), "yes" if one.has_key else "", one.url) for one in found]
    show_table(output(), ("id", "name", "copy", "key", "address"), rows)
    for one in found:
        if one.problem:
            messages().line(one_line(one.problem), "yellow")
    return 0


def _copy(one: RegistryView) -> str:
    if not one.servers:
        return "none yet"
    return f"{counted(one.servers, 'server')}{f', {when(one.copied_at)}' if one.copied_at else ', not whole yet'}"


@command(app)
async def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where it is; it has the API of the official registry.")],
    name: Annotated[str, typer.Option("--name", help="What it is called here; its host otherwise.")] = "",
) -> int:
    """Add a registry, a company's own say, and print its id.

    It is asked once whether it is one.
    """
    async with connect_host() as api:
        before = {one.id for one in (await api.registries.list(LOCAL_OWNER)).registries}
        found = (await api.registries.add(LOCAL_OWNER, RegistryInput(url=url, name=name))).registries
    for one in found:
        if one.id not in before:
            output().line(one.id)
            if one.problem:
                messages().line(one_line(f"{one.problem} Give it: pilothouse mcp registries key {one.id}"), "yellow")
    return 0


@command(app)
async def remove(name: RegistryName) -> int:
    """Remove a registry that you added, with its copy and its key."""
    async with connect_host() as api:
        await api.registries.remove(LOCAL_OWNER, name)
    messages().line(one_line(f"Removed the registry {name}."))
    return 0


@command(app)
async def key(
    name: RegistryName,
    forget: Annotated[bool, typer.Option("--forget", help="Take the key away that is kept.")] = False,
) -> int:
    """Give a registry the key that it wants; it is typed, or piped in."""
    async with connect_host() as api:
        known = (await api.registries.list(LOCAL_OWNER)).registries
        if name not in {each for one in known for each in (one.id, one.name)}:
            there = ", ".join(one.id for one in known)
            raise PilothouseError("not_found", f"There is no registry “{name}”.", fix=f"There are: {there}.")
        value = None if forget else read_secret("key")
        await api.registries.set_key(LOCAL_OWNER, name, RegistryKey(value=value))
    messages().line("The key is forgotten." if forget else "The key is kept.")
    return 0
