"""Failures to start or reach a server, and which of them stay until the person does something."""

from __future__ import annotations

import math
import shlex
from typing import Literal

from pilothouse.mcp.channel import ChannelError
from pilothouse.types import limits

# Answers that stay the same however often one asks.
_FINAL_STATUS = {200, 400, 401, 402, 403, 404, 405, 406, 410, 415}


# Too many requests, or nobody there behind a gateway: a while later it may be otherwise.
_TOO_MANY = 429
TURNED_AWAY = frozenset({_TOO_MANY, 502, 503, 504})

# How a value is given in a terminal.
ValueOption = Literal["--secret-env", "--secret-header", "--secret"]


class Hopeless(ChannelError):
    """A failure that stays until the person does something; nobody tries again by themselves."""


class NeedsConsent(Hopeless):
    """A local command that the person has not agreed to, or that changed since."""


class NoRoom(Hopeless):
    """As many local servers run as may run at once."""


def is_hopeless(error: ChannelError) -> bool:
    """Return whether trying again would change nothing."""
    return isinstance(error, Hopeless) or error.status in _FINAL_STATUS or bool(error.certificate)


def patience(attempt: int, asked: float | None) -> float:
    """Return the seconds before another try after so many: 1, 2, 4, 8, and never less than the server asks for."""
    return max(min(limits.RETRY_FIRST_WAIT * 2.0 ** (attempt - 1), limits.RETRY_MAX_WAIT), asked or 0.0)


def rate_limited(seconds: float) -> str:
    """Return what a person reads while a server lets nobody in."""
    return f"Rate limited. Try again in {math.ceil(seconds)} seconds."


def waiting(error: ChannelError, seconds: float) -> str:
    """Return what a person reads while a call waits for a server that turned it away."""
    if error.status == _TOO_MANY:
        return rate_limited(seconds)
    return f"{error.message} Trying again in {math.ceil(seconds)} seconds."


def needs_consent(name: str, *, changed: bool) -> NeedsConsent:
    """Return that the person must be asked first."""
    why = "changed since you agreed to it" if changed else "was never started before"
    fix = "Look at its command in Settings, MCP, and allow it."
    return NeedsConsent(f"“{name}” {why}; it starts once you allow it.", fix=fix, sent=False)


def missing_value(name: str, option: ValueOption, variable: str) -> Hopeless:
    """Return that a variable or header has no value."""
    fix = f"Enter it in Settings, MCP, or with `{_editing(name, option, variable)}`."
    return Hopeless(f"“{name}” needs a value for {variable}.", fix=fix, sent=False)


def moved_value(name: str, option: ValueOption, variable: str) -> Hopeless:
    """Return that a secret belongs to another address."""
    message = f"The value of {variable} was given for another address and is not sent to where “{name}” is now."
    fix = f"Enter it again in Settings, MCP, or with `{_editing(name, option, variable)}`."
    return Hopeless(message, fix=fix, sent=False)


def _editing(name: str, option: ValueOption, variable: str) -> str:
    return shlex.join(["pilothouse", "mcp", "edit", name, option, variable])
