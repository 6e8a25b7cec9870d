"""A meaning for tests: words of one group mean the same, and texts are as alike as what their words mean."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec

from pilothouse.types.meaning import MeaningKind, MeaningView, Near, Purpose
from pilothouse.types.memories import MemoryFilter, MemoryRecords
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.scopes import Scope

_WORD = re.compile(r"\w+")


class Known(msgspec.Struct, frozen=True):
    """A text that can be near to something."""

    key: str
    owner: str
    scope: Scope
    text: str


class SynonymMeaning:
    """Finds texts by groups of words that mean the same; implements the port `Meaning`."""

    is_there = True
    model = "synonyms"

    def __init__(self, groups: Iterable[str], texts: Callable[[], Awaitable[Sequence[Known]]]) -> None:
        self._groups = {word: f"[{number}]" for number, group in enumerate(groups) for word in group.split()}
        self._texts = texts
        # What was said to have changed.
        self.told: list[MeaningKind] = []
        # Of a model that knows no bounds: whatever it finds must be looked at again.
        self.ignores_scopes = False
        # Why it cannot be asked; empty while it can.
        self.trouble = ""

    async def view(self) -> MeaningView:
        return MeaningView(state="failed" if self.trouble else "ready", model=self.model, message=self.trouble)

    async def embed(self, texts: Sequence[str], purpose: Purpose = "passage") -> Sequence[bytes]:
        return ()

    async def near(
        self, query: str, kind: MeaningKind, owner: str, scopes: Sequence[Scope] | None, most: int
    ) -> Sequence[Near] | None:
        if self.trouble:
            return None
        meant = self._meant(query)
        found = [
            Near(known.key, _alike(meant, self._meant(known.text)))
            for known in await self._texts()
            if self.ignores_scopes or (known.owner == owner and (scopes is None or known.scope in scopes))
        ]
        return sorted((each for each in found if each.likeness > 0), key=lambda each: -each.likeness)[:most]

    def changed(self, kind: MeaningKind) -> None:
        self.told.append(kind)

    def _meant(self, text: str) -> Counter[str]:
        return Counter(self._groups.get(word, word) for word in _WORD.findall(text.lower()))


def _alike(one: Counter[str], other: Counter[str]) -> float:
    both = sum(count * other[word] for word, count in one.items())
    size = math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
    return both / size if size else 0.0


def memories_of(store: MemoryRecords, *owners: str) -> Callable[[], Awaitable[Sequence[Known]]]:
    """Return what reads the memories of these owners from a store, as they are then."""

    async def read() -> Sequence[Known]:
        found: list[Known] = []
        for owner in owners:
            page = FIRST
            while True:
                part = await store.memories(owner, MemoryFilter(), page)
                found += [Known(one.key, owner, one.scope, one.text) for one in part.memories]
                if part.next is None:
                    break
                page = Page(cursor=part.next)
        return found

    return read
