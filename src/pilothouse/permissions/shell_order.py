"""Whether commands, words of the shell and the signs between them come in an order that a shell reads.

A shell drops a line that it cannot read, with all that the line began, and goes on with the next. What is taken apart
here goes on differently, so nothing can be said of a script with such a line.
"""

from __future__ import annotations

from typing import Literal

# What must be open where one of these stands.
_CLOSES = {
    **{"then": ("if", "elif"), "elif": ("then",), "else": ("then",), "fi": ("then", "else"), "}": ("{",)},
    **{"do": ("while", "until", "for", "select"), "done": ("do",), "esac": ("case",)},
}
_OPENS = frozenset({"if", "then", "elif", "else", "while", "until", "for", "select", "do", "{", "case"})
KEYWORDS = frozenset({*_CLOSES, *_OPENS, "!", "time", "coproc"})


class Order:
    """The order in one list of commands."""

    def __init__(self) -> None:
        self.is_broken = False
        self._open: list[str] = []
        # Whether a command must come, may come, or was there.
        self._state: Literal["must", "may", "was"] = "may"

    @property
    def has_cases(self) -> bool:
        """Return whether patterns come next behind the end of a case."""
        return self._open[-1:] == ["case"]

    @property
    def is_behind(self) -> bool:
        """Return whether a command was there, so that what comes belongs to it."""
        return self._state == "was"

    def command(self) -> None:
        """Take note of a command."""
        self._expect(self._state != "was" and self._open[-1:] not in (["for"], ["select"]))
        self._state = "was"

    def keyword(self, word: str) -> None:
        """Take note of a word of the shell itself."""
        self._expect(self._state != "was" or word in ("do", "{"))
        if word in _CLOSES:
            self._expect(self._open[-1:] != [] and self._open[-1] in _CLOSES[word] and self._state != "must")
            self._open[-1:] = []
            self._state = "was"
        if word in _OPENS:
            self._open.append(word)
        if word not in ("fi", "done", "}", "esac"):
            self._state = "was" if word in ("for", "select") else "may" if word == "case" else "must"

    def joint(self, sign: str) -> None:
        """Take note of a sign between commands, or of the end of a line."""
        if sign in "\n\r":
            self._state = "may" if self._state == "was" else self._state
        elif sign in (";;", ";&", ";;&"):
            self._expect(self.has_cases)
            self._state = "may"
        else:
            self._expect(self._state == "was")
            self._state = "may" if sign in ";&" else "must"

    def end(self) -> None:
        """Take note of the end."""
        self._expect(not self._open and self._state != "must")

    def _expect(self, fits: bool) -> None:
        self.is_broken = self.is_broken or not fits
