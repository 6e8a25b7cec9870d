"""The lines of a passage that are worth showing, from the file as it is now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pilothouse.tools.files.walk import Folder
from pilothouse.tools.search.queries import Location
from pilothouse.tools.search.reading import Reader
from pilothouse.tools.search.results import Hit, cut
from pilothouse.tools.search.tree import Protects
from pilothouse.tools.search.words import split_identifiers

# Lines of each passage that are shown.
_SHOWN = 4
_WORD = re.compile(r"\w+")


class Excerpts:
    """Reads passages below a folder, without following links."""

    def __init__(self, top: Folder, protects: Protects) -> None:
        self._top = top
        self._protects = protects
        self._reader = Reader()
        self._path = ""
        self._lines: list[str] = []

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file; none when it is gone or is not text any more."""
        if path != self._path:
            good = self._reader.read_below(self._top, path) and not self._protects(path, self._reader.identity)
            text = self._reader.content.decode("utf-8", "replace") if good else ""
            self._path, self._lines = path, text.split("\n")
        return self._lines

    def passage(self, location: Location, words: Iterable[str]) -> Hit | None:
        """Return the lines of a passage that have most of the words, in their order; None when it is gone."""
        lines = self.lines(location.path)[location.first - 1 : location.last]
        if not any(line.strip() for line in lines):
            return None
        wanted = frozenset(words)
        best = sorted(range(len(lines)), key=lambda at: (-_shared(lines[at], wanted), at))[:_SHOWN]
        shown = [cut(lines[at].rstrip()) for at in sorted(best) if lines[at].strip()]
        return Hit(path=location.path, line=location.first, last=location.last, text="\n    ".join(["", *shown]))

    def line(self, path: str, number: int, label: str) -> Hit:
        """Return one line."""
        lines: Sequence[str] = self.lines(path)
        text = cut(lines[number - 1].strip()) if number <= len(lines) else ""
        return Hit(path=path, line=number, text=text, label=label)


def _shared(line: str, wanted: frozenset[str]) -> int:
    """Return how many of the words a line has."""
    said = f"{line} {split_identifiers(line)}".lower()
    return len(wanted.intersection(_WORD.findall(said)))
