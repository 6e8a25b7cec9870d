"""Breaks lines between words while text streams, as wide as the terminal is now."""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections.abc import Iterable
from itertools import groupby

from pilothouse.cli.inline import Span
from pilothouse.cli.terminal import Terminal, messages, plain, styled
from pilothouse.types.lazy import Lazy

# Text between which a line may break: spaces, a sign of a script that does without them, everything else. To compile it
# takes 3 ms, and what goes to no terminal is not wrapped.
_PIECES = Lazy(
    lambda: re.compile(
        r"\n|[^\S\n]+|[\u2e80-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60]|"
        r"[^\s\u2e80-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60]+"
    )
)
# What may not begin a line in those scripts, and what may not end one.
_CLOSING = frozenset("、。，．！？：；）」』】〉》〕ーっゃゅょッャュョ々")
_OPENING = frozenset("（「『【〈《〔")
# Longer lines are hard to read, however wide the terminal.
_WIDEST = 100
_JOINER = "\u200d"
# How far the further lines of a sentence stand in.
_MARGIN = 2
_NOTHING = Span("")


class Wrapper:
    """Wraps spans that come in pieces; the last word waits until it is whole."""

    def __init__(self, *, colours: bool = True) -> None:
        self._colours = colours
        self._word: list[Span] = []
        self._space: list[Span] = []
        self._column = 0
        # What stands before every further line of this paragraph.
        self._indent = Span("")

    def begin(self, prefix: Span, indent: Span) -> str:
        """Begin a line with something that stands before its words; further lines begin with the indent."""
        self._indent = indent
        self._column = text_width(prefix.text)
        return self._shown([prefix])

    def feed(self, spans: Iterable[Span]) -> str:
        """Return the text that can be shown, broken into lines."""
        return "".join(self._piece(piece, one.styles) for one in spans for piece in _PIECES().findall(one.text))

    def end(self) -> str:
        """Return the last word, and forget the line."""
        rest = self._place()
        self._space, self._column, self._indent = [], 0, Span("")
        return rest

    def _piece(self, piece: str, styles: frozenset[str]) -> str:
        if piece == "\n":
            return f"{self.end()}\n"
        if piece.isspace():
            shown = self._place()
            self._space.append(Span(piece, styles))
            return shown
        shown = self._place() if self._breaks_before(piece) else ""
        self._word.append(Span(piece, styles))
        return shown

    def _breaks_before(self, piece: str) -> bool:
        """Return whether a line may end between the word so far and this piece, without a space."""
        if not self._word:
            return False
        last = self._word[-1].text[-1]
        return (_is_sign(last) or _is_sign(piece[0])) and piece[0] not in _CLOSING and last not in _OPENING

    def _place(self) -> str:
        """Put the word onto this line, or onto the next."""
        word, space = self._word, self._space
        if not word:
            return ""
        self._word, self._space = [], []
        width = sum(text_width(one.text) for one in word)
        gap = sum(text_width(one.text) for one in space)
        margin = text_width(self._indent.text)
        if self._column > margin and self._column + gap + width > columns():
            self._column = margin + width
            return "\n" + self._shown([self._indent, *word])
        self._column += gap + width
        if self._column > columns():
            # Longer than a line, an address perhaps: the terminal breaks it, so that it can be copied whole.
            self._column %= columns()
        return self._shown([*space, *word])

    def _shown(self, spans: Iterable[Span]) -> str:
        if not self._colours:
            return "".join(one.text for one in spans)
        alike = groupby(spans, key=lambda one: one.styles)
        return "".join(styled("".join(one.text for one in run), styles) for styles, run in alike)


def say(out: Terminal, text: str, style: str = "", before: Span = _NOTHING) -> None:
    """Write a text on lines of its own; on a terminal they break between words, right of what stands before it."""
    if not out.is_terminal:
        out.line(f"{before.text}{text}")
        return
    wrapper = Wrapper(colours=out.styled)
    margin = Span(" " * max(_MARGIN, text_width(before.text)))
    words = Span(plain(text), frozenset({style} if style else ()))
    out.fresh_line()
    out.write_styled(f"{wrapper.begin(before, margin)}{wrapper.feed([words])}{wrapper.end()}\n")


def aside_only(sentence: str) -> None:
    """Say a sentence beside the answers, to a person only: a script has its exit code."""
    aside = messages()
    if aside.is_terminal:
        say(aside, sentence, "dim")


def columns() -> int:
    """Return how wide a line may be now."""
    # One less: some terminals break a full line by themselves.
    return max(10, min(_WIDEST, shutil.get_terminal_size().columns - 1))


def text_width(text: str) -> int:
    """Return how many columns a text takes."""
    if text.isascii():
        return len(text)
    width, before = 0, ""
    for char in text:
        if before != _JOINER:
            width += _char_width(char)
        before = char
    return width


def _char_width(char: str) -> int:
    # Skin tones colour the sign before them.
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or "\U0001f3fb" <= char <= "\U0001f3ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _is_sign(char: str) -> bool:
    """Return whether it is a sign of a script that does without spaces."""
    return unicodedata.east_asian_width(char) in "WF" and unicodedata.category(char) in ("Lo", "Lm", "Po", "Ps", "Pe")
