"""`pilothouse mcp check`: a server is tried as it was typed, and nothing of it is kept."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from pilothouse.cli.command import as_typed
from pilothouse.cli.consent import show
from pilothouse.cli.options import ConsentTo
from pilothouse.cli.prompting import someone_is_there, yes
from pilothouse.cli.server_key_questions import ask_for, named_for
from pilothouse.cli.server_proposals import ANYTHING, AnyForm, named_server, settled
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.server_checks import ServerCheck, ServerChecked
from pilothouse.types.servers import Consent

Target = Annotated[
    list[str] | None,
    typer.Argument(metavar="ANYTHING", help=ANYTHING, show_default=False),
]


async def check(target: Target = None, consent: ConsentTo = None, *, form: AnyForm) -> int:
    """Try a server once, list its tools, and keep nothing.

    It takes what `pilothouse mcp add` takes.
    """
    named = named_server(target or (), form)
    fingerprint, asked = consent or "", set[str]()
    async with connect_host() as api:
        body, later = await settled(api, named, form)
        while True:
            checked = await api.servers.check(LOCAL_OWNER, ServerCheck(server=body, fingerprint=fingerprint))
            if checked.consent is not None:
                fingerprint = await _agreed(checked.consent, checked.message)
                continue
            missing = [key for key in checked.keys if key.source == "missing" and key.id not in asked]
            if checked.ok or checked.needs_sign_in or not missing:
                return _told(checked)
            given = named_for(missing, later, is_remote=bool(body.url))
            if not given and someone_is_there(messages()):
                messages().line(one_line(checked.message), "yellow")
                given = await ask_for(missing, messages())
            if not given:
                return _told(checked)
            asked |= given.keys()
            body = msgspec.structs.replace(body, keys={**body.keys, **given})


async def _agreed(consent: Consent, message: str) -> str:
    """Return the fingerprint of a command that the person agrees to; raise `needs_consent` where they do not."""
    aside = messages()
    show("This check", consent, aside)
    if not someone_is_there(aside):
        fix = f"If you agree: pilothouse mcp check --consent {consent.fingerprint} …"
        raise PilothouseError("needs_consent", message, fix=fix)
    if not await yes("Start it once?", aside):
        raise PilothouseError("needs_consent", "Nothing was started.")
    return consent.fingerprint


def _told(checked: ServerChecked) -> int:
    """Say how it went; return the exit code."""
    if checked.ok:
        output().line(one_line(checked.message), "green")
        rows = [(tool.name, tool.description.strip().partition("\n")[0]) for tool in checked.tools]
        if rows:
            show_table(output(), ("tool", "what it does"), rows)
        return 0
    messages().line(one_line(checked.message), "red")
    if checked.fix:
        messages().line(one_line(as_typed(checked.fix)))
    if checked.needs_sign_in:
        messages().line("Add it, then sign in: pilothouse mcp add …, pilothouse mcp sign-in NAME")
    return 1
