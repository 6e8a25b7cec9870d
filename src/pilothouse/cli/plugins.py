"""`pilothouse plugins`: what is installed, what it adds, and what is broken."""

from __future__ import annotations

from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, output
from pilothouse.connection import connect_host
from pilothouse.types.host import LOCAL_OWNER


async def list_plugins(*, as_json: bool) -> int:
    """List the plugins; ends with 1 when one of them does not work."""
    async with connect_host() as api:
        plugins = (await api.config(LOCAL_OWNER)).plugins
    out = output()
    if as_json:
        out.json(plugins)
    elif plugins:
        rows = [(one.name, f"{one.package} {one.version}", ", ".join(one.hooks)) for one in plugins]
        show_table(out, ("name", "package", "adds"), rows)
    else:
        messages().line("No plugins are installed.")
    broken = [one for one in plugins if one.problem]
    for one in broken:
        messages().line(f"{one.name} is switched off: {one.problem}", "yellow")
    return 1 if broken else 0
