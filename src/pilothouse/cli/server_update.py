"""Newer versions of a server's package, in a terminal: shown with what changes, and taken only after consent."""

from __future__ import annotations

from pilothouse.cli.consent import show
from pilothouse.cli.prompting import read_line, someone_is_there
from pilothouse.cli.servers import try_server
from pilothouse.cli.terminal import messages, one_line, output
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.package_updates import PackageUpdate, UpdateAgreed
from pilothouse.types.servers import Consent, ServerView


async def updated(api: ClientApi, server: ServerView, fingerprint: str | None) -> int:
    """Look for a newer version of a server's package, and take it if the person agrees."""
    found = await api.packages.look(LOCAL_OWNER, server.id)
    output().line(f"{server.slug}: {one_line(found.message)}")
    if found.consent is None:
        return 0
    agreed = fingerprint or await _asked(server, found, found.consent)
    body = UpdateAgreed(version=found.newest, fingerprint=agreed)
    now = await api.packages.update(LOCAL_OWNER, server.id, body)
    output().line(f"{now.slug}: {one_line(now.package.identifier)} is at {one_line(found.newest)} now.")
    return await try_server(api, now) if now.enabled else 0


async def _asked(server: ServerView, found: PackageUpdate, consent: Consent) -> str:
    """Return the fingerprint that the person agreed to; raise `needs_consent` where they did not."""
    aside = messages()
    show(server.name, consent, aside)
    if not someone_is_there(aside):
        fix = f"If you do: pilothouse mcp update {server.slug} --consent {consent.fingerprint}"
        raise PilothouseError("needs_consent", f"{server.name} stays as it is before you agree to this.", fix=fix)
    said = (await read_line(f"Update it to {found.newest}? [y/N] ", aside) or "").strip().lower()
    if said not in ("y", "yes"):
        raise PilothouseError("needs_consent", f"{server.name} stays at {found.version or 'what it was'}.")
    return consent.fingerprint
