"""Asking, in a terminal, before a local command starts for the first time."""

from __future__ import annotations

from collections.abc import Iterable

from pilothouse.cli.prompting import read_line, someone_is_there
from pilothouse.cli.terminal import Terminal, exact, messages
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.package_updates import LOOKING_UP
from pilothouse.types.servers import Consent, ConsentGiven, ServerPatch, ServerView

_OFFLINE = "without the network, in the sandbox: private data may go there unasked"
_VOUCHED = "yes, and it sends nothing on, you vouch for that: private data may go there unasked"


async def agreed(api: ClientApi, server: ServerView, fingerprint: str | None = None) -> ServerView:
    """Return the server once its command may start; raise `needs_consent` where nobody can be asked."""
    if server.consent is None and server.label == LOOKING_UP:
        server = await api.servers.retry(LOCAL_OWNER, server.id)
    consent = server.consent
    if consent is None:
        return server
    if fingerprint is None:
        aside = messages()
        show(server.name, consent, aside)
        if not someone_is_there(aside):
            raise PilothouseError(
                "needs_consent",
                f"{server.name} does not start before you agree to this command.",
                fix=f"If you do: pilothouse mcp enable {server.slug} --consent {consent.fingerprint}",
            )
        return await _asked(api, server, consent, aside)
    return await api.servers.consent(LOCAL_OWNER, server.id, ConsentGiven(fingerprint=fingerprint))


async def _asked(api: ClientApi, server: ServerView, consent: Consent, aside: Terminal) -> ServerView:
    """Ask whether it may start, and what becomes of what it is told; raise `needs_consent` where it may not."""
    # Where it has no network it can send nothing on.
    is_offline = server.settings.sandbox and not server.settings.network
    choices = {} if is_offline else {"o": _OFFLINE, "v": _VOUCHED}
    for key, words in choices.items():
        aside.line(f"  {key}  {words}", "dim")
    said = (await read_line(f"Start it? [{'/'.join(('y', 'N', *choices))}] ", aside) or "").strip().lower()
    if said == "o" and "o" in choices:
        # Another way to start it: what the person agrees to is shown anew.
        held = ServerPatch(sandbox=True, network=False)
        return await agreed(api, await api.servers.patch(LOCAL_OWNER, server.id, held))
    if said not in ("y", "yes", "v"):
        raise PilothouseError("needs_consent", f"{server.name} stays as it is and starts nothing.")
    given = ConsentGiven(fingerprint=consent.fingerprint, cannot_send=said == "v")
    return await api.servers.consent(LOCAL_OWNER, server.id, given)


def show(name: str, consent: Consent, aside: Terminal) -> None:
    """Print everything that a person agrees to: each argument whole, nothing invisible."""
    program, *arguments = consent.argv or (consent.program,)
    first = not consent.changes
    aside.line(f"{exact(name)} would start this command{' for the first time' if first else ''}:", "bold")
    _listed("installs", consent.installs, aside)
    owner = f" (owner {exact(consent.program_owner)})" if consent.program_owner else ""
    aside.line(f"  program     {exact(program)}{owner}")
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
