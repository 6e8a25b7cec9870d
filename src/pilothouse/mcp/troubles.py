"""Failures to start or reach a server, and which of them stay until the person does something."""

from __future__ import annotations

from pilothouse.mcp.channel import ChannelError

# Answers that stay the same however often one asks.
_FINAL_STATUS = {200, 400, 401, 402, 403, 404, 405, 406, 410, 415}


class Hopeless(ChannelError):
    """A failure that stays until the person does something; nobody tries again by themselves."""


class NeedsConsent(Hopeless):
    """A local command that the person has not agreed to, or that changed since."""


def is_hopeless(error: ChannelError) -> bool:
    """Return whether trying again would change nothing."""
    return isinstance(error, Hopeless) or error.status in _FINAL_STATUS or bool(error.certificate)


def needs_consent(name: str, *, changed: bool) -> NeedsConsent:
    """Return that the person must be asked first."""
    why = "changed since you agreed to it" if changed else "was never started before"
    fix = "Look at its command in Settings, MCP, and allow it."
    return NeedsConsent(f"“{name}” {why}; it starts once you allow it.", fix=fix, sent=False)


def missing_value(name: str, variable: str) -> Hopeless:
    """Return that a variable or header has no value."""
    return Hopeless(f"“{name}” needs a value for {variable}.", fix="Enter it in Settings, MCP.", sent=False)


def moved_value(name: str, variable: str) -> Hopeless:
    """Return that a secret belongs to another address."""
    message = f"The value of {variable} was given for another address and is not sent to where “{name}” is now."
    return Hopeless(message, fix="Enter it again in Settings, MCP.", sent=False)
