"""How the pieces of an answer stood, noted while it arrives: providers want their blocks back as they gave them.

An answer's text is one item, each stretch of thinking and each call another. Where these do not say the order by
themselves, `data.order` of the text's item does. A number is so many characters of the text; "thinking", "call" and
"native" are the next of that kind; `{"text": 12, "opaque": ...}` and `{"picture": 0, "opaque": ...}` are a piece of
the text, and a part of the item, with what their provider wants back. A number below zero is so many characters that
are shown and were never said. No text stands on disk twice.
"""

from __future__ import annotations

from typing import Literal

from pilothouse.types import limits
from pilothouse.types.json import JsonObject

Piece = int | str | JsonObject
_APART = ("thinking", "call")


class AnswerOrder:
    """The pieces of one answer so far."""

    def __init__(self) -> None:
        # How many characters of text came; whoever takes text adds to it.
        self.length = 0
        self._noted = 0
        self._pieces: list[Piece] = []
        # Whether there was more than is told apart.
        self.is_full = False
        # Whether more text is not the same paragraph: something stands between that ends one.
        self.is_apart = False
        self._block_end = 0

    def end_block(self, opaque: JsonObject | None) -> None:
        """Note that a block of the provider's ends with the text so far."""
        self._block_end = self.length
        self.text_ended(opaque)

    def show(self, size: int) -> None:
        """Note that so many characters are added to the text which the model did not say."""
        self.text_ended()
        self.length += size
        self._noted = self.length
        self._note(-size)

    def text_ended(self, opaque: JsonObject | None = None) -> None:
        """Note that the text since the last piece is one of its own."""
        fresh, self._noted = self.length - self._noted, self.length
        if opaque is not None:
            self._note({"text": fresh, "opaque": opaque})
        elif fresh:
            self._note(fresh)

    def add(self, kind: Literal["thinking", "call", "native"]) -> None:
        """Note the next piece of a kind."""
        self.text_ended()
        self._note(kind)
        self.is_apart = self.is_apart or (self.length > 0 and (kind == "native" or self._block_end == self.length))

    def add_picture(self, index: int, opaque: JsonObject | None) -> None:
        """Note a picture by its place among the parts."""
        self.text_ended()
        self._note({"picture": index} if opaque is None else {"picture": index, "opaque": opaque})

    @property
    def ends_with_thinking(self) -> bool:
        """Return whether nothing came since the last piece of thinking; beyond what is told apart nobody asks."""
        return self.is_full or (self.length == self._noted and self._pieces[-1:] == ["thinking"])

    def _note(self, piece: Piece) -> None:
        self.is_full = self.is_full or len(self._pieces) >= limits.ANSWER_PIECES
        if not self.is_full:
            self._pieces.append(piece)

    def kept(self) -> list[Piece] | None:
        """Return what is worth keeping, once the answer is complete: nothing where the items say it themselves."""
        self.text_ended()
        return None if self.is_full or _says_itself(self._pieces) else self._pieces


def _says_itself(pieces: list[Piece]) -> bool:
    """Return whether the order follows from that of the items: the text in one piece, then the provider's own."""
    said = [place for place, piece in enumerate(pieces) if piece not in _APART]
    if not said:
        return True
    first, last = said[0], said[-1]
    # Without text, its item is made at the end.
    begins = isinstance(pieces[first], int) or (pieces[first] == "native" and last == len(pieces) - 1)
    return begins and last - first + 1 == len(said) and all(pieces[place] == "native" for place in said[1:])
