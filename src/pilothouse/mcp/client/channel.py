"""What a transport is to the rest: something that carries JSON-RPC messages to one server and back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from pilothouse.types.json import JsonObject

RequestId = int | str


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """A message on its way to the server, encoded once; the rest is what a transport may need to know of it."""

    body: bytes
    # Set for requests; responses and notifications are not answered.
    id: RequestId | None = None
    # Empty for responses.
    method: str = ""
    # What HTTP carries beside the body: protocol version, method and name, mirrored arguments.
    headers: Mapping[str, str] = {}


class Message(msgspec.Struct, frozen=True):
    """A JSON-RPC object as the server sent it, unchecked; `size` is its length in bytes."""

    value: JsonObject
    size: int


class Garbage(msgspec.Struct, frozen=True):
    """Something that is no JSON-RPC message; `id` is set where it can only be the answer to that request."""

    text: str
    why: str
    id: RequestId | None = None


class Undeliverable(msgspec.Struct, frozen=True):
    """One request failed on its way; the channel itself goes on."""

    id: RequestId
    error: ChannelError


Incoming = Message | Garbage | Undeliverable
Deliver = Callable[[Incoming], None]


class ChannelError(Exception):
    """A connection could not be made, or broke; `message` is one sentence, `fix` what to try."""

    def __init__(self, message: str, *, fix: str = "", sent: bool = True, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        # The same without anything that the server wrote by itself: what a model is told.
        self.outline = message
        self.fix = fix
        # Whether the server may have got the request: only then may it have been carried out.
        self.sent = sent
        # The HTTP status behind it, if there was one.
        self.status = status
        # Whether the connection was made, and ended without an answer.
        self.dropped = False
        # Seconds after which the server asked to be tried again.
        self.retry_after: float | None = None
        # The SHA-256 fingerprint of the certificate that nobody vouches for.
        self.certificate = ""


class Channel(Protocol):
    """One connection to one server. Opened and closed by the same task; `send` may be called by any."""

    async def open(self, deliver: Deliver) -> None:
        """Connect; from now on everything that arrives is delivered. Raise a ChannelError that says why not."""

    async def send(self, message: Outgoing) -> None:
        """Hand a message to the server, not waiting for its answer; raise a ChannelError when that cannot be."""

    def abandon(self, request_id: RequestId) -> None:
        """Nobody waits for this answer any more; over HTTP this closes the response."""

    def fail(self, error: ChannelError) -> None:
        """End the connection at once for this reason; `close` is still to be called."""

    @property
    def closed(self) -> asyncio.Future[ChannelError | None]:
        """Return what is done when the connection ended, with why it did (None when we closed it)."""

    async def close(self) -> None:
        """End the connection and everything that belongs to it; calling it twice is fine."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A 401 or 403, and the request that it answered."""

    status: int
    # The header of that name; empty when there was none.
    www_authenticate: str
    url: str
    # What `Access.headers` had given for that request.
    sent: Mapping[str, str]
    # Which try of this request it was, counted from 1.
    attempt: int


class Access(Protocol):
    """What lets requests over HTTP in: a token, renewed or asked for anew when the server refuses it."""

    async def headers(self, url: str) -> Mapping[str, str]:
        """Return what to send beside a request to this address; raise a ChannelError when a person must sign in."""

    async def challenged(self, refusal: Refusal) -> bool:
        """Return whether to try the request again, with new headers; after a few attempts it says no."""
