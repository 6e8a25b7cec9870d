"""Checking an MCP server before it is kept: it is started once, with what was typed, and leaves nothing behind."""

from __future__ import annotations

from pilothouse.types.json import Body, Frozen
from pilothouse.types.server_keys import ServerKey
from pilothouse.types.servers import Consent, ServerInput


class ServerCheck(Body, frozen=True):
    """A server as it was typed so far."""

    server: ServerInput
    # Of the server that is edited: what the form keeps of it is taken from there.
    id: str = ""
    # Of the consent that the person gave to this check; a local command needs one.
    fingerprint: str = ""


class CheckedTool(Frozen, frozen=True):
    """A tool that a checked server offers."""

    name: str
    title: str
    description: str


class ServerChecked(Frozen, frozen=True):
    """How a check went, in one sentence, and what the server said it lacks."""

    ok: bool
    message: str
    fix: str = ""
    # To be agreed to first: nothing was started.
    consent: Consent | None = None
    # Of what was started: whoever keeps the server as it was checked agreed to this.
    fingerprint: str = ""
    needs_sign_in: bool = False
    # The first of them; there may be many.
    tools: tuple[CheckedTool, ...] = ()
    tool_count: int = 0
    keys: tuple[ServerKey, ...] = ()
    seconds: float = 0.0
