"""`pilothouse plugins`: what is installed, what of it runs, what it adds, and what is broken."""

from __future__ import annotations

from typing import Annotated

import typer

from pilothouse.cli.options import AsJson, command, new_app
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types.api import ConfigPatch
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.plugin_views import PluginView

app = new_app()
Name = Annotated[str, typer.Argument(metavar="NAME", help="The plugin's name, as the list has it.")]


@command(app, "list")
async def list_plugins(json: AsJson = False) -> int:
    """List installed plugins, whether they run, what they add, and what is broken."""
    async with connect_host() as api:
        plugins = (await api.settings.get(LOCAL_OWNER)).plugins
    out = output()
    if json:
        out.json(plugins)
    else:
        rows = [(one.name, f"{one.package} {one.version}", _state(one), ", ".join(one.hooks)) for one in plugins]
        show_table(out, ("name", "package", "state", "adds"), rows, none="No plugins are installed.")
    for one in plugins:
        if one.off and not json:
            messages().line(one_line(f"{one.name}: {one.off}"))
    broken = [one for one in plugins if one.problem]
    for one in broken:
        messages().line(f"{one.name} is switched off: {one.problem}", "yellow")
    return 1 if broken else 0


def _state(one: PluginView) -> str:
    return "off" if one.off else "broken" if one.problem else "on"


@command(app)
async def enable(name: Name) -> int:
    """Let a plugin run, as it is now.

    It runs with your rights. Another version, or other files, are off again until you enable them.
    """
    return await _switch(name, on=True)


@command(app)
async def disable(name: Name) -> int:
    """Let a plugin run no more."""
    return await _switch(name, on=False)


async def _switch(name: str, *, on: bool) -> int:
    async with connect_host() as api:
        there = {one.name: one for one in (await api.settings.get(LOCAL_OWNER)).plugins}
        if name not in there:
            raise PilothouseError("not_found", f"There is no plugin “{name}”.", fix="pilothouse plugins list")
        patch = ConfigPatch(plugins={name: there[name].digest if on else None})
        now = {one.name: one for one in (await api.settings.update(LOCAL_OWNER, patch)).plugins}[name]
    what = one_line(f"{now.name} ({now.package} {now.version})")
    if now.problem:
        messages().line(f"{what} does not work: {one_line(now.problem)}", "yellow")
        return 1
    messages().line(f"{what} is enabled and runs with your rights." if on else f"{what} is disabled.")
    messages().line("A host that runs takes its maskers and reminders from its next start on.", "dim")
    return 0
