"""The commands under `pilothouse plugins`."""

from __future__ import annotations

from typing import Annotated

import typer

from pilothouse.cli.command import perform
from pilothouse.cli.options import AsJson, new_app

plugins_app = new_app("List installed plugins; enable and disable them.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="The plugin's name, as the list has it.")]


@plugins_app.command("list")
def list_plugins(json: AsJson = False) -> None:
    """List installed plugins, whether they run, what they add, and what is broken."""
    from pilothouse.cli import plugins as command

    perform(lambda: command.list_plugins(as_json=json))


@plugins_app.command()
def enable(name: Name) -> None:
    """Let a plugin run, as it is now.

    It runs with your rights. Another version, or other files, are off again until you enable them.
    """
    from pilothouse.cli import plugins as command

    perform(lambda: command.switch(name, on=True))


@plugins_app.command()
def disable(name: Name) -> None:
    """Let a plugin run no more."""
    from pilothouse.cli import plugins as command

    perform(lambda: command.switch(name, on=False))
