"""Finding by meaning: what is asked of whoever turns texts into vectors and compares them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from pilothouse.types.json import Frozen
from pilothouse.types.scopes import Scope

# What has vectors in the database: memories, passages of documents, messages of conversations.
MeaningKind = Literal["memory", "passage", "message"]
# What a text is for: some models embed a question otherwise than what answers it.
Purpose = Literal["query", "passage"]


class Near(msgspec.Struct, frozen=True):
    """Something that means about the same: its key, and how alike it is, from -1 to 1."""

    key: str
    likeness: float


class MeaningView(Frozen, frozen=True):
    """Whether texts are found by meaning, and how far that is."""

    # "words": only by words, because no model for it is there or it was switched off.
    state: Literal["ready", "words", "failed"]
    # Which model, for people; empty where there is none.
    model: str = ""
    # One sentence: what is missing and what to do, or what went wrong.
    message: str = ""
    # How many texts have a vector of this model, and how many still wait for one.
    done: int = 0
    waiting: int = 0


class Meaning(Protocol):
    """Finds texts by what they mean. Without a model it finds nothing, and words are all there is."""

    @property
    def is_there(self) -> bool:
        """Return whether there is a model to ask; nothing is loaded for that."""

    @property
    def model(self) -> str:
        """Return which model makes the vectors: those of another cannot be compared with its own."""

    async def view(self) -> MeaningView:
        """Return how it stands."""

    async def embed(self, texts: Sequence[str], purpose: Purpose = "passage") -> Sequence[bytes]:
        """Return a vector of length 1 for each text, as little-endian 16-bit floats; none where it cannot be done."""

    async def near(
        self, query: str, kind: MeaningKind, owner: str, scopes: Sequence[Scope] | None, most: int
    ) -> Sequence[Near] | None:
        """Return what is nearest among an owner's texts in these scopes, or all; nearest first.

        None means that nothing was searched by meaning: no model is there, or it fails; `view` says why.
        What was written lately has its vector made first, as far as a moment allows.
        """

    def changed(self, kind: MeaningKind) -> None:
        """Say that texts were written or removed: vectors are made for those without one, in the background."""


class WordsOnly:
    """Finds nothing by meaning; implements the port `Meaning`."""

    is_there = False
    model = ""

    def __init__(self, message: str = "") -> None:
        self._message = message

    async def view(self) -> MeaningView:
        return MeaningView(state="words", message=self._message)

    async def embed(self, texts: Sequence[str], purpose: Purpose = "passage") -> Sequence[bytes]:
        return ()

    async def near(
        self, query: str, kind: MeaningKind, owner: str, scopes: Sequence[Scope] | None, most: int
    ) -> Sequence[Near] | None:
        return None

    def changed(self, kind: MeaningKind) -> None:
        return None
