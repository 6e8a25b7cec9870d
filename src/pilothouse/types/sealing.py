"""How a call's arguments are kept that hold a secret: masked for everyone, sealed for the call itself."""

from __future__ import annotations

from typing import Protocol

import msgspec

from pilothouse.types.json import JsonObject


class Sealing(Protocol):
    """Keeps bytes so that only this data folder can read them."""

    def seal(self, data: bytes, bound: str) -> str:
        """Return the data as text that opens for the same purpose only."""

    def unseal(self, sealed: str, bound: str) -> bytes | None:
        """Return what was sealed for this purpose, None when it cannot be opened."""


class KeptArguments(msgspec.Struct, frozen=True):
    """A call's arguments without secrets, and where there were some the real ones, sealed."""

    arguments: JsonObject
    sealed: str = ""
