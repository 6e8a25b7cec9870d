"""A model of meaning for tests: texts are similar by how many of their words belong to the same groups."""

from __future__ import annotations

import asyncio
import math
import re
import struct
from collections.abc import Sequence
from hashlib import blake2b

from pilothouse.types.meaning import MeaningKind, MeaningView, Near, Purpose
from pilothouse.types.scopes import Scope

_WORD = re.compile(r"[a-z]{3,}")
_SIZE = 256


class WordGroups:
    """Texts are alike by how many of their words mean the same; implements the port `Meaning`."""

    def __init__(self, *groups: str, model: str = "groups") -> None:
        self._group = {word: group.split()[0] for group in groups for word in group.split()}
        self.model = model
        self.is_there = True
        # Every text that was embedded as something to be found, in order.
        self.seen: list[str] = []
        # While it is not set, whoever asks about passages waits.
        self.open = asyncio.Event()
        self.open.set()
        # What `near` finds.
        self.nearby: tuple[Near, ...] = ()
        self.asked_near: list[tuple[str, str, str, Sequence[Scope] | None]] = []

    async def view(self) -> MeaningView:
        return MeaningView(state="ready", model=self.model)

    async def embed(self, texts: Sequence[str], purpose: Purpose = "passage") -> Sequence[bytes]:
        if purpose == "passage":
            await self.open.wait()
            self.seen += texts
        return [self.vector(text) for text in texts]

    async def near(
        self, query: str, kind: MeaningKind, owner: str, scopes: Sequence[Scope] | None, most: int
    ) -> Sequence[Near]:
        self.asked_near.append((query, kind, owner, scopes))
        return self.nearby[:most]

    def changed(self, kind: MeaningKind) -> None:
        return None

    def vector(self, text: str) -> bytes:
        """Return the vector of a text: a direction for each word that has a group."""
        values = [0.0] * _SIZE
        known = {self._group[word] for word in _WORD.findall(text.lower()) if word in self._group}
        for group in known:
            values[_place(group, _SIZE // 2)] = 1.0
        if not known:
            # A text of which nothing is known is like no other.
            values[_SIZE // 2 + _place(text, _SIZE // 2)] = 1.0
        length = math.sqrt(sum(value * value for value in values))
        return struct.pack(f"<{_SIZE}e", *(value / length for value in values))


def _place(text: str, places: int) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "little") % places
