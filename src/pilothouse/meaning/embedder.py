"""What turns texts into vectors, whoever it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pilothouse.types.meaning import Purpose


class NoVectors(Exception):
    """No vectors came; the text is a sentence for people."""

    def __init__(self, sentence: str, *, refused: bool = False) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        # Whether these texts were refused; others may be taken.
        self.refused = refused


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def id(self) -> str:
        """Return what its vectors are kept under; letters, digits and a few signs."""

    @property
    def name(self) -> str:
        """Return what people call it."""

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        """Return a vector of length 1 for each text, as little-endian 16-bit floats; raise NoVectors."""
