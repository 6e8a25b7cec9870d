"""A document's lines as passages: pieces of some 250 words that end with a paragraph, a section or a page.

They do not overlap: one after the other they are the whole text, line by line, and a place is found in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from pilothouse.documents.reading import Chunk, Heading
from pilothouse.types import limits
from pilothouse.types.documents import Passage

# From here on a passage ends where a paragraph does; a section that is shorter is not cut off from what follows it.
_ENOUGH, _TOO_MUCH, _SHORT = 0.7, 1.3, 0.16


class Splitter:
    """Takes chunks in their order and makes passages of them."""

    def __init__(self) -> None:
        self._position = 0
        self._page: int | None = None
        # The number of the last line of the present page.
        self._last = 0
        self._above: list[Heading] = []
        self._section = ""
        self._lines: list[str] = []
        self._first = 1
        self._words = self._size = 0
        self.pages = self.lines = self.characters = 0
        self.preview = ""

    def take(self, chunk: Chunk) -> Iterator[Passage]:
        """Yield the passages that end within a chunk."""
        if chunk.page != self._page or (self.pages == 0 and chunk.page is not None):
            yield from self.end()
            self._page, self._last = chunk.page, 0
            self.pages += chunk.page is not None
        headings = {each.at: each for each in chunk.headings}
        for at, line in enumerate(chunk.lines):
            if heading := headings.get(at):
                if self._words > limits.PASSAGE_WORDS * _SHORT:
                    yield from self.end()
                self._enter(heading)
            yield from self._add(line, goes_on=chunk.goes_on and at == 0)

    def _enter(self, heading: Heading) -> None:
        self._above = [*(each for each in self._above if each.level < heading.level), heading]
        self._section = " › ".join(each.text for each in self._above)

    def _add(self, line: str, *, goes_on: bool) -> Iterator[Passage]:
        if goes_on:
            # What has been collected is of the same line, or of none.
            yield from self.end()
        self._last += not goes_on
        self.lines += not goes_on
        self.characters += len(line) + (not goes_on)
        if len(self.preview) < limits.DOCUMENT_PREVIEW_CHARS and line.strip():
            self.preview = f"{self.preview} {' '.join(line.split())}".strip()[: limits.DOCUMENT_PREVIEW_CHARS]
        words = len(line.split())
        if (
            (not words and self._words >= limits.PASSAGE_WORDS * _ENOUGH)
            or self._size + len(line) > limits.DOCUMENT_PASSAGE_CHARS
            or self._words + words > limits.PASSAGE_WORDS * _TOO_MUCH
        ):
            yield from self.end()
        if len(line) > limits.DOCUMENT_PASSAGE_CHARS:
            yield from self._long(line)
            return
        if not self._lines:
            if not words:
                return
            self._first = self._last
        self._lines.append(line)
        self._words += words
        self._size += len(line) + 1

    def _long(self, line: str) -> Iterator[Passage]:
        """Yield a line that is longer than a passage; those that follow the first go on in the same line."""
        while line:
            cut = line.rfind(" ", limits.DOCUMENT_PASSAGE_CHARS // 2, limits.DOCUMENT_PASSAGE_CHARS)
            end = cut + 1 if cut > 0 else limits.DOCUMENT_PASSAGE_CHARS
            yield self._made(line[:end], self._last)
            line = line[end:]

    def end(self) -> Iterator[Passage]:
        """Yield what has been collected."""
        while self._lines and not self._lines[-1].strip():
            self._lines.pop()
        if self._lines:
            yield self._made("\n".join(self._lines), self._first)
        self._lines, self._words, self._size = [], 0, 0

    def _made(self, text: str, line: int) -> Passage:
        self._position += 1
        return Passage(position=self._position - 1, page=self._page, line=line, section=self._section, text=text)
