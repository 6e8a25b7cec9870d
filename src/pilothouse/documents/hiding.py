"""Follows the elements of a page, to know whether what comes next is in one that nobody sees."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

from pilothouse.types.hidden_markup import CLOSES, VOID, is_hidden, is_near

_ATTRIBUTE = re.compile(r"""([^\s=>"'/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]*))?""")
# Most elements have nothing that could hide them, and need no closer look.
_SUSPECT = re.compile(r"hidden|style", re.IGNORECASE)


class Hiding:
    """Knows which elements are open, and the outermost of them that is hidden."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._opened: Counter[str] = Counter()
        # How many elements are open around the hidden one; None where none is.
        self._around: int | None = None

    @property
    def is_on(self) -> bool:
        """Return whether nobody sees what comes next."""
        return self._around is not None

    def began(self, name: str, written: str) -> bool:
        """Hear of an element with its attributes as they are written; return whether nobody sees it."""
        for old in CLOSES.get(name, ()):
            if self._opened[old] and is_near(reversed(self._open), old, name):
                self.ended(old)
        hides = not self.is_on and bool(_SUSPECT.search(written)) and is_hidden(_attributes(written))
        if name in VOID:
            return self.is_on or hides
        if hides:
            self._around = len(self._open)
        self._open.append(name)
        self._opened[name] += 1
        return self.is_on

    def ended(self, name: str) -> None:
        """Hear of an element's end, and with it of that of all that was left open in it."""
        if not self._opened[name]:
            return
        while self._open:
            last = self._open.pop()
            self._opened[last] -= 1
            if last == name:
                break
        if self._around is not None and len(self._open) <= self._around:
            self._around = None


def _attributes(written: str) -> dict[str, str]:
    # Of two of the same name the first counts.
    return {name.lower(): unescape(value.strip("\"'")) for name, value in reversed(_ATTRIBUTE.findall(written))}
