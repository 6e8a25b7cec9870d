"""Requests that prove who asks, whatever the proof is made of."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from pilothouse.net.reply import Fetched, Reply
from pilothouse.net.request import target_of

# Where what proves who asks stands.
PROOFS = ("authorization", "x-amz-security-token")


class Outgoing(msgspec.Struct, frozen=True):
    """A request on its way to be signed or sent; `url` as it is sent, its path encoded already."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class Signer(Protocol):
    """Adds to a request what proves who asks."""

    async def signed(self, request: Outgoing) -> Outgoing:
        """Return the request as it goes out; raise a PilothouseError that says what is missing."""

    def drop(self, sent: Mapping[str, str], refusal: Reply | Fetched) -> bool:
        """Forget a proof that was refused, and return whether another one may be taken."""


class TokenSigner(ABC):
    """Adds a token that passes to each request, and gets a new one before the old one does."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._token = ""
        self._until = 0.0
        self._turn = asyncio.Lock()

    async def signed(self, request: Outgoing) -> Outgoing:
        async with self._turn:
            if self._clock() >= self._until:
                await self._renew()
        return self._with_token(request, f"Bearer {self._token}")

    def drop(self, sent: Mapping[str, str], refusal: Reply | Fetched) -> bool:
        """Forget a token that was refused before its time: it was revoked, or this machine's clock was set back."""
        if refusal.status == 401 and sent.get("authorization") == f"Bearer {self._token}":
            self._until = 0.0
        return refusal.status == 401

    def _with_token(self, request: Outgoing, token: str) -> Outgoing:
        return msgspec.structs.replace(request, headers={**request.headers, "authorization": token})

    @abstractmethod
    async def _renew(self) -> None:
        """Get a new token, and learn until when it is good."""


async def signed(
    signer: Signer | None, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
) -> Outgoing:
    """Return a request, with a proof among its headers where it needs one."""
    if signer is None:
        return Outgoing(method, url, headers, body)
    return await signer.signed(Outgoing(method, target_of(url).url, headers, body))
