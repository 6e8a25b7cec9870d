"""What a remote server is reached with, as the person set it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pilothouse.mcp.channel import Access
from pilothouse.types import limits
from pilothouse.types.servers import Wire


class Found(msgspec.Struct, frozen=True):
    """What worked: how a server is spoken to, and at which address."""

    wire: Wire
    url: str


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A server's address and everything that goes with it; secrets are filled in."""

    url: str
    wire: Wire = "auto"
    headers: Mapping[str, str] = {}
    subprotocols: tuple[str, ...] = ()
    # SHA-256 of the one certificate that is trusted although nobody vouches for it.
    certificate: str = ""
    access: Access | None = None
    connect_timeout: float = limits.CONNECT_TIMEOUT
    # What worked the last time is tried first.
    remembered: Found | None = None
