"""Private data, strangers' words and a way out: all three together need the person's fresh word."""

from __future__ import annotations

from collections.abc import Set

from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.authority import Seen

_SERVER = "server:"


def tainted(access: Access, seen: Seen) -> str:
    """Return why a call that sends must be looked at whatever was allowed before; or nothing."""
    private = leaving(access, seen)
    if not private or not seen.untrusted:
        return ""
    return f"{private.removesuffix('.')} and words of strangers ({_named(seen.untrusted)})."


def steered(access: Access, seen: Seen) -> str:
    """Return why no earlier word covers a call that sends: a server's own words may be what it is made of."""
    private = leaving(access, seen)
    if not private or not seen.heard:
        return ""
    servers = ", ".join(sorted(seen.heard))
    return f"{private.removesuffix('.')}, while it reads what servers say about their own tools ({servers})."


def leaving(access: Access, seen: Seen) -> str:
    """Return which private data a call could send away; or nothing."""
    destination = way_out(access)
    # What came from there may go back there; a server that is called "files" is not where files come from.
    private = seen.private - {f"{_SERVER}{destination}"}
    if not destination or not private:
        return ""
    return f"It can send data to {destination}, and this conversation has seen private data ({_named(private)})."


def _named(sources: Set[str]) -> str:
    """Return where data came from, in words."""
    servers = sorted(source.removeprefix(_SERVER) for source in sources if source.startswith(_SERVER))
    others = sorted(source for source in sources if not source.startswith(_SERVER))
    if servers:
        others.append(f"the server{'s' if len(servers) > 1 else ''} {', '.join(servers)}")
    return ", ".join(others)


def way_out(access: Access) -> str:
    """Return where data could go; a command that nothing holds could send it anywhere."""
    unheld = access.command is not None and not access.command.sandbox
    return access.destination or ("anywhere" if unheld else "")


def too_much(access: Access, seen: Seen) -> str:
    """Return why so much data, or data so often, for one place must be looked at; or nothing."""
    to = access.destination
    sent, sends = seen.sent.get(to, 0) + access.payload_bytes, seen.sends.get(to, 0) + 1
    if not to or (sent <= limits.SENT_UNASKED and sends <= limits.SENDS_UNASKED):
        return ""
    return f"With it this run has sent {sent:,} bytes to {to} in {sends} calls."
