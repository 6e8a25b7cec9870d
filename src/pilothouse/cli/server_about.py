"""`pilothouse mcp about`."""

from __future__ import annotations

from pilothouse.cli.prompting import someone_is_there, yes
from pilothouse.cli.server_tools import show_change
from pilothouse.cli.servers import find
from pilothouse.cli.terminal import messages, one_line
from pilothouse.connection import connect_host
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.servers import AboutDecided


async def about(name: str) -> int:
    """Show what a server says about itself now and said before, and ask which of both models are told."""
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
        await api.decide_about(LOCAL_OWNER, server.id, AboutDecided(fingerprint=change.fingerprint, accept=accept))
    aside.line("Models are told the new words." if accept else "Models are told what it said before.")
    return 0
