"""How a call's arguments are kept that hold a secret: masked for everyone, sealed for the call itself."""

from __future__ import annotations

from typing import Protocol

import msgspec

from pilothouse.types.json import JsonObject


class Sealing(Protocol):
    """Keeps bytes so that only this data folder can read them."""

    def seal(self, data: bytes, bound: str) -> str:
        """Return the data as text that opens for the same purpose only."""
        ...

    def unseal(self, sealed: str, bound: str) -> bytes | None:
        """Return what was sealed for this purpose, None when it cannot be opened."""
        ...


class KeptArguments(msgspec.Struct, frozen=True):
    """A call's arguments without secrets, and where there were some the real ones, sealed."""

    arguments: JsonObject
    sealed: str = ""


class KeepsArguments(Protocol):
    """What happens to a call's arguments before anyone sees or keeps them."""

    async def keep_arguments(self, arguments: JsonObject, call_id: str) -> KeptArguments:
        """Return the arguments without secrets, and the real ones sealed if that makes a difference."""
        ...

    async def real_arguments(self, sealed: str, call_id: str) -> JsonObject | None:
        """Return the arguments that were sealed for this call, None when they cannot be opened any more."""
        ...
