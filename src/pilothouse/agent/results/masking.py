"""Masks what is kept of a text, and only that; a secret that a cut would go through is left out whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from pilothouse.types.invisible import whole
from pilothouse.types.plugins import Masker
from pilothouse.types.ports import Redactor

# How much more of a long text is cleaned than is kept of it.
_AHEAD = 4


def _as_it_is(text: str) -> str:
    return text


class Bounded(msgspec.Struct, frozen=True):
    """A masked text, and whether something of it was left out."""

    text: str
    cut: bool


class Masking:
    """Masks the texts and files of one result."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def text(self, text: str, room: int, clean: Callable[[str], str] = _as_it_is) -> Bounded:
        """Return the text, or its beginning and end with a note of what is missing.

        What `clean` takes out is gone before secrets are looked for, so that nothing in their midst hides them.
        """
        # A secret that a cut goes through ends within `reach` of it: what is masked goes so much further, and that
        # much is left out again, so no half of a secret stays. Twice, because a mark may be longer than its secret.
        margin = 2 * self._redactor.reach
        if len(text) <= room + 2 * margin:
            masked = whole(self._redactor.redact(clean(text)))
            return Bounded(bounded(masked, room), len(masked) > room)
        head, tail = _shares(room)
        # Of a text that is mostly orders to a terminal, some words are left all the same.
        first = clean(text[: _AHEAD * (head + margin)])[: head + margin]
        last = clean(text[max(0, len(text) - _AHEAD * (tail + margin)) :])
        first, last = (self._redactor.redact(part) for part in (first, last[max(0, len(last) - tail - margin) :]))
        first, last = first[: max(0, len(first) - margin)], last[margin:]
        return Bounded(_joined(whole(first), whole(last), len(text), room), True)

    def bytes(self, data: bytes) -> bytes:
        """Return the bytes of a file without the secrets that stand in it as text."""
        text = data.decode("latin-1")
        masked = self._redactor.redact(text)
        return data if masked is text else masked.encode("latin-1")


def bounded(text: str, room: int) -> str:
    """Return the text, or its beginning and end with a note of what is missing."""
    return text if len(text) <= room else _joined(text, text, len(text), room)


def _joined(first: str, last: str, length: int, room: int) -> str:
    head, tail = _shares(room)
    end = last[max(0, len(last) - tail) :]
    return f"{first[:head]}\n[… {length - head - tail:,} characters left out …]\n{end}"


def _shares(room: int) -> tuple[int, int]:
    return room * 2 // 3, room // 3


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
