"""What is asked of the database about vectors of texts: a port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from pilothouse.types.meaning import MeaningKind, Near
from pilothouse.types.scopes import Scope


class Lacking(msgspec.Struct, frozen=True):
    """A text without a vector of a model as it is now: whose it is, who sees it, and which version of it this is."""

    key: str
    owner: str
    scope_kind: str
    scope: str
    version: str
    text: str
    # Where only who sees it has changed, its vector is good as it is.
    vector: bytes = b""


class Look(msgspec.Struct, frozen=True):
    """Some texts without a vector, newest first, and below which number to look for more; 0 when that is all."""

    texts: tuple[Lacking, ...]
    below: int
    # The number of the newest text of all.
    top: int


class KeptVector(msgspec.Struct, frozen=True):
    """A vector as it is kept, with its number and who sees it."""

    id: int
    owner: str
    scope_kind: str
    scope: str
    vector: bytes


class Asked(msgspec.Struct, frozen=True):
    """What is looked for: among whose texts of which kind, in which scopes or all, by which model, and how many."""

    model: str
    kind: MeaningKind
    owner: str
    scopes: Sequence[Scope] | None
    query: bytes
    most: int


class Vectors(Protocol):
    """Keeps the vectors of texts, and finds texts that have none."""

    async def searches(self) -> bool:
        """Return whether the database compares vectors itself; what it needs for that is made ready."""

    async def lacking(self, kind: MeaningKind, model: str, below: int | None, above: int, most: int) -> Look:
        """Return texts without a vector of a model, of those between two numbers."""

    async def keep(self, kind: MeaningKind, model: str, texts: Sequence[Lacking], vectors: Sequence[bytes]) -> None:
        """Keep the vector of each text instead of the one it had."""

    async def after(self, kind: MeaningKind, model: str, number: int, most: int) -> Sequence[KeptVector]:
        """Return the vectors that were kept after one with a number, in order."""

    async def count(self, kind: MeaningKind, model: str, upto: int) -> int:
        """Return how many vectors there are up to a number."""

    async def remove_orphans(self, model: str, after: int) -> tuple[Sequence[int], int]:
        """Remove some vectors of texts that are gone, and those of other models; return them and how far it came.

        It is 0 at the end.
        """

    async def forget(self, model: str) -> None:
        """Remove all vectors of a model."""

    async def exact(self, asked: Asked, ids: Sequence[int]) -> tuple[Sequence[Near], Sequence[int]]:
        """Return how alike the texts of these vectors are, of those that may be seen, and which vectors are gone."""

    async def nearest(self, asked: Asked) -> Sequence[Near]:
        """Return what is nearest, where the database searches."""

    async def counts(self, model: str) -> tuple[int, int]:
        """Return how many texts have a vector of a model, and how many have none."""

    async def dimension(self, model: str) -> int:
        """Return how many numbers the vectors of a model have, 0 if there are none."""
