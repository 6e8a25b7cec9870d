"""`pilothouse web`: who searches the web and who makes pictures, their keys, and whether they work."""

from __future__ import annotations

from typing import Annotated

import typer

from pilothouse.cli.options import AsJson, command, new_app
from pilothouse.cli.prompting import read_secret
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.web import WebKey, WebServiceView

app = new_app()
Use = Annotated[str, typer.Argument(metavar="USE", help="What it is for: search or pictures.")]


@command(app, "list")
async def list_services(json: AsJson = False) -> int:
    """List who searches the web and who makes pictures, and whether the agent has them.

    Choose one with: pilothouse settings web.search brave
    """
    async with connect_host() as api:
        services = (await api.web.list(LOCAL_OWNER)).services
    if json:
        output().json(services)
        return 0
    rows = [
        (one.use, one.name or "none", one.address, "yes" if one.has_key else "", "yes" if one.offered else "")
        for one in services
    ]
    show_table(output(), ("for", "service", "address", "key", "offered"), rows)
    for one in services:
        if one.name and one.problem:
            messages().line(one_line(f"{one.use}: {one.problem}"), "yellow")
    return 0


@command(app)
async def key(
    use: Use, forget: Annotated[bool, typer.Option("--forget", help="Take the key away that is kept.")] = False
) -> int:
    """Give the service that is chosen its key; it is typed, or piped in."""
    async with connect_host() as api:
        service = await _chosen(api, use)
        value = None if forget else read_secret("key")
        await api.web.set_key(LOCAL_OWNER, use, WebKey(value=value))
    what = "forgotten" if forget else "kept"
    messages().line(one_line(f"The key of {service.name} is {what}."))
    return 0


@command(app)
async def test(use: Use) -> int:
    """Ask a service something: one search, or for its models; no picture is made."""
    async with connect_host() as api:
        await _chosen(api, use)
        tried = await api.web.test(LOCAL_OWNER, use)
    if not tried.ok:
        messages().line(one_line(tried.message), "yellow")
        return 1
    output().line(one_line(tried.message))
    return 0


async def _chosen(api: ClientApi, use: str) -> WebServiceView:
    """Return the service that is chosen for something; raise where there is none, before anything is typed."""
    for one in (await api.web.list(LOCAL_OWNER)).services:
        if one.use == use and one.name:
            return one
        if one.use == use:
            fix = f"Choose one: pilothouse settings web.{use} NAME"
            raise PilothouseError("bad_request", f"No service is chosen for {use}.", fix=fix)
    raise PilothouseError("not_found", f"There is no service for “{use}”.", fix="It is search or pictures.")
