"""Masks what is kept of a text, and only that; a secret that a cut would go through is left out whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from pilothouse.types.gaps import shares, with_gap
from pilothouse.types.invisible import whole
from pilothouse.types.plugins import Masker
from pilothouse.types.ports import Redactor

# Few orders to a terminal are longer; one that a cut goes through is left out like a secret.
_ORDER = 256


def _as_it_is(text: str) -> str:
    return text


class Bounded(msgspec.Struct, frozen=True):
    """A masked text, and whether something of it was left out."""

    text: str
    cut: bool


class _End(msgspec.Struct, frozen=True):
    """One end of a text, masked; of how many characters it was made, and how many masked ones are not in it."""

    text: str
    looked_at: int
    over: int


class Masking:
    """Masks the texts and files of one result."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        # What was asked for last, and what it gave.
        self._last: tuple[tuple[str, int, Callable[[str], str]], Bounded] | None = None

    def text(self, text: str, room: int, clean: Callable[[str], str] = _as_it_is) -> Bounded:
        """Return the text, or its beginning and end with a note of what is missing.

        What `clean` takes out is gone before secrets are looked for, so that nothing in their midst hides them.
        """
        # What the model gets and what is kept are mostly the same text.
        if self._last is None or self._last[0] != (text, room, clean):
            self._last = (text, room, clean), self._text(text, room, clean)
        return self._last[1]

    def _text(self, text: str, room: int, clean: Callable[[str], str]) -> Bounded:
        # A secret that a cut goes through ends within `reach` of it: what is masked goes so much further, and that
        # much is left out again, so no half of a secret stays. Twice, because a mark may be longer than its secret.
        margin = 2 * self._redactor.reach + _ORDER
        if len(text) > room + 2 * margin:
            head, tail = shares(room)
            first = self._end(text, head, margin, clean, is_first=True)
            last = self._end(text, tail, margin, clean, is_first=False)
            between = len(text) - first.looked_at - last.looked_at
            if between > 0:
                return Bounded(with_gap(first.text, last.text, first.over + between + last.over), True)
        masked = whole(self._redactor.redact(clean(text)))
        return Bounded(bounded(masked, room), len(masked) > room)

    def _end(self, text: str, share: int, margin: int, clean: Callable[[str], str], *, is_first: bool) -> _End:
        """Return so much of the masked text's beginning or end; where it has not so much, all was looked at."""
        looked_at = share + margin
        while True:
            piece = clean(text[:looked_at] if is_first else text[len(text) - looked_at :])
            masked = whole(self._redactor.redact(piece))
            # Marks and orders to a terminal make it shorter: the margin is in addition to what is kept.
            if len(masked) >= share + margin or looked_at >= len(text):
                break
            missing = share + margin - len(masked)
            looked_at = min(len(text), looked_at + max(looked_at // 4, 2 * missing))
        size = max(0, min(share, len(masked) - margin))
        kept = masked[:size] if is_first else masked[len(masked) - size :]
        return _End(kept, looked_at, len(masked) - size)

    def bytes(self, data: bytes) -> bytes:
        """Return the bytes of a file without the secrets that stand in it as text."""
        text = data.decode("latin-1")
        masked = self._redactor.redact(text)
        return data if masked is text else masked.encode("latin-1")


def bounded(text: str, room: int) -> str:
    """Return the text, or its beginning and end with a note of what is missing."""
    if len(text) <= room:
        return text
    head, tail = shares(room)
    return with_gap(text[:head], text[len(text) - tail :], len(text) - head - tail)


class MaskerChain:
    """Several maskers as one: the secrets that we know first, then what plugins look for."""

    def __init__(self, first: Redactor, others: Sequence[Masker]) -> None:
        self._first = first
        self._others = others

    @property
    def reach(self) -> int:
        return max(self._first.reach, *(masker.reach for masker in self._others))

    def redact(self, text: str) -> str:
        text = self._first.redact(text)
        for masker in self._others:
            text = masker.mask(text)
        return text
