"""Breaks lines between words while text streams, as wide as the terminal is now; code keeps its lines."""

from __future__ import annotations

import re
import shutil
import unicodedata

_WORDS = re.compile(r"\n|[^\S\n]+|\S+")
# Longer lines are hard to read, however wide the terminal.
_WIDEST = 100


class Wrapper:
    """Wraps text that comes in pieces; the last word waits until it is whole."""

    def __init__(self) -> None:
        self._word = ""
        self._space = ""
        self._column = 0
        self._line_began = True
        self._in_code = False

    def feed(self, text: str) -> str:
        """Return the text that can be shown, broken into lines."""
        text, self._word = self._word + text, ""
        pieces = _WORDS.findall(text)
        if pieces and not pieces[-1].isspace():
            self._word = pieces.pop()
        return "".join(map(self._place, pieces))

    def end(self) -> str:
        """Return the last word."""
        word, self._word = self._word, ""
        rest = self._place(word) if word else ""
        self._space, self._column, self._line_began = "", 0, True
        return rest

    def _place(self, piece: str) -> str:
        if piece == "\n":
            self._space, self._column, self._line_began = "", 0, True
            return piece
        if piece.isspace():
            self._space += piece
            return ""
        if self._line_began and piece.startswith("```"):
            self._in_code = not self._in_code
        self._line_began = False
        space, self._space = self._space, ""
        width = _width(piece)
        if not self._in_code and self._column and self._column + len(space) + width > _columns():
            self._column = width
            return f"\n{piece}"
        self._column += len(space) + width
        return space + piece


def _columns() -> int:
    # One less: some terminals break a full line by themselves.
    return min(_WIDEST, shutil.get_terminal_size().columns - 1)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else not unicodedata.combining(char) for char in text)
