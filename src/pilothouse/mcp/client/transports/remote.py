"""What the channels to remote servers share: where the server is, how it is spoken to, and how a channel ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from pilothouse.mcp.client.channel import Access, Channel, ChannelError
from pilothouse.net.addresses import place_of
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
    # The longest message that is taken; None for the usual.
    message_bytes: int | None = None
    # What worked the last time is tried first.
    remembered: Found | None = None

    @property
    def longest(self) -> int:
        """Return how many bytes a message may have."""
        return self.message_bytes or limits.MCP_MESSAGE_BYTES


class RemoteChannel(Channel):
    """A channel that knows how it speaks to its server: after its first answer, `found` says what worked."""

    def __init__(self, target: Target, wire: Wire) -> None:
        self._target = target
        self.found = Found(wire, target.url)
        self._closed: asyncio.Future[ChannelError | None] = asyncio.get_running_loop().create_future()

    @property
    def closed(self) -> asyncio.Future[ChannelError | None]:
        return self._closed

    def fail(self, error: ChannelError) -> None:
        self._end(error)

    @property
    def _host(self) -> str:
        return place_of(self._target.url).host

    def _end(self, error: ChannelError | None) -> None:
        if not self._closed.done():
            self._closed.set_result(error)
