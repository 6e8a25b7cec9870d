"""Several maskers as one: the secrets that we know first, then what plugins look for."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.types.plugins import Masker
from pilothouse.types.ports import Redactor


class MaskerChain:
    """A redactor with more eyes; implements the port `Redactor`."""

    def __init__(self, first: Redactor, others: Sequence[Masker]) -> None:
        self._first = first
        self._others = others

    @property
    def reach(self) -> int:
        """Return the length of the longest text that any of them takes out."""
        return max(self._first.reach, *(masker.reach for masker in self._others))

    def redact(self, text: str) -> str:
        """Return the text without what any of them takes out; raise when one of them breaks."""
        text = self._first.redact(text)
        for masker in self._others:
            text = masker.mask(text)
        return text
