"""Asking, in a terminal, before a local command starts for the first time."""

from __future__ import annotations

from collections.abc import Iterable

from pilothouse.cli.prompting import someone_is_there, yes
from pilothouse.cli.terminal import Terminal, exact, messages
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.servers import Consent, ConsentGiven, ServerView


async def agreed(api: ClientApi, server: ServerView, fingerprint: str | None = None) -> ServerView:
    """Return the server once its command may start; raise `needs_consent` where nobody can be asked."""
    consent = server.consent
    if consent is None:
        return server
    if fingerprint is None:
        aside = messages()
        show(server, consent, aside)
        if not someone_is_there(aside):
            raise PilothouseError(
                "needs_consent",
                f"{server.name} does not start before you agree to this command.",
                fix=f"If you do: pilothouse mcp enable {server.slug} --consent {consent.fingerprint}",
            )
        if not await yes("Start it?", aside):
            raise PilothouseError("needs_consent", f"{server.name} stays as it is and starts nothing.")
        fingerprint = consent.fingerprint
    return await api.consent_server(LOCAL_OWNER, server.id, ConsentGiven(fingerprint=fingerprint))


def show(server: ServerView, consent: Consent, aside: Terminal) -> None:
    """Print everything that a person agrees to: each argument whole, nothing invisible."""
    program, *arguments = consent.argv or (consent.program,)
    first = not consent.changes
    aside.line(f"{exact(server.name)} would start this command{' for the first time' if first else ''}:", "bold")
    aside.line(f"  program     {exact(program)} (owner {exact(consent.program_owner)})")
    for number, argument in enumerate(arguments, 1):
        aside.line(f"  {f'argument {number}':<11} {exact(argument)}")
    aside.line(f"  folder      {exact(consent.folder) or 'one of its own'}")
    if consent.sandbox:
        aside.line(f"  sandbox     {exact(consent.sandbox)}")
    _listed("variables", consent.environment, aside)
    _listed("compared", consent.files, aside)
    for warning in consent.warnings:
        aside.line(f"  ! {exact(warning)}", "yellow")
    for change in consent.changes:
        aside.line(f"  changed since you agreed: {exact(change)}", "yellow")
    aside.line(f"  fingerprint {exact(consent.fingerprint)}", "dim")


def _listed(label: str, values: Iterable[str], aside: Terminal) -> None:
    for value in values:
        aside.line(f"  {label:<11} {exact(value)}")
        label = ""
