"""`pilothouse prompt`: the person's prompts and mini prompts, and where their files are."""

from __future__ import annotations

from typing import Annotated

import typer

from pilothouse.cli.options import AsJson, command, new_app
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, output
from pilothouse.connection import connect_host
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.host_prompts import MiniPrompts, Prompts
from pilothouse.types.prompts import PromptInput

Name = Annotated[str, typer.Argument(metavar="NAME", help="The prompt's name.")]
Mini = Annotated[bool, typer.Option("--mini", help="Of the mini prompts.")]
app = new_app()


def _of(api: ClientApi, mini: bool) -> Prompts | MiniPrompts:
    return api.mini_prompts if mini else api.prompts


@command(app, "list")
async def list_prompts(mini: Mini = False, json: AsJson = False) -> int:
    """List the prompts, or the mini prompts, and say what is wrong with their files."""
    async with connect_host() as api:
        found = await _of(api, mini).list(LOCAL_OWNER)
    if json:
        output().json(found)
        return 0
    head = ("name", "title", "variables", "about")
    rows = [
        (each.name, each.title, ", ".join(one.name for one in each.variables if not one.built_in), each.description)
        for each in found.prompts
    ]
    show_table(output(), head, rows, none=f"There are none. Write one: {found.folder}/NAME.md")
    for problem in found.problems:
        messages().line(problem)
    return 0


@command(app)
async def show(name: Name, mini: Mini = False, json: AsJson = False) -> int:
    """Print the text of a prompt."""
    async with connect_host() as api:
        found = await _of(api, mini).get(LOCAL_OWNER, name)
    if json:
        output().json(found)
    else:
        output().line(found.text)
    return 0


@command(app)
async def edit(name: Name, mini: Mini = False) -> int:
    """Print the path of a prompt's file, for your editor: $EDITOR "$(pilothouse prompt edit NAME)".

    One that comes with the program is copied into your folder first; your file then takes its place.
    """
    async with connect_host() as api:
        prompts = _of(api, mini)
        found = await prompts.get(LOCAL_OWNER, name)
        if found.built_in:
            body = PromptInput(text=found.text, title=found.title, description=found.description)
            found = await prompts.put(LOCAL_OWNER, name, body)
    output().line(found.path)
    return 0
