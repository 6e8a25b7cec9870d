"""What strangers wrote, fit to be shown: one line, nothing invisible in it, and not too long."""

from __future__ import annotations

import re

from pilothouse.mcp.servers.consent_warnings import visible
from pilothouse.types import limits
from pilothouse.types.invisible import whole, without_escapes, without_hidden

_LINK = re.compile(r"https://[^\s<>\"'`\[\](){}|\\^\x00-\x20\x7f-\U0010ffff]{4,300}")
_UNSAFE = re.compile(r"[^\w.@-]+")


def shown(value: object, most: int = limits.PROPOSAL_TEXT_CHARS) -> str:
    """Return a stranger's text as one line of bounded length; of anything but a text nothing."""
    if not isinstance(value, str):
        return ""
    text = without_hidden(without_escapes(whole(value[: most * 4])))[0]
    text = visible(" ".join(text.split()))
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def link_in(text: object) -> str:
    """Return the first link of a text; only an encrypted one that hides nothing is taken."""
    found = _LINK.search(text[: limits.PROPOSAL_TEXT_CHARS * 4]) if isinstance(text, str) else None
    return found[0].rstrip(".,;:!?") if found else ""


def plain_id(name: str) -> str:
    """Return a name that can stand in a mark."""
    return _UNSAFE.sub("-", name).strip("-")[: limits.PROPOSAL_ID_CHARS] or "value"
