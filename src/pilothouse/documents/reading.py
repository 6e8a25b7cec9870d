"""Reads a file piece by piece; all of this happens in the helper process, since strangers wrote the file.

A question begins a file or goes on with it: what is read so far stays in the process until the next question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

import msgspec

from pilothouse.documents.sniffing import kind_of
from pilothouse.types import limits
from pilothouse.types.attached import DocumentKind

# The module that reads each kind; loaded in the process that reads.
_READERS: dict[DocumentKind, str] = {
    "pdf": "pdf",
    "word": "word",
    "slides": "slides",
    "sheet": "sheets",
    "html": "web_pages",
    "markdown": "plain_text",
    "text": "plain_text",
    "csv": "plain_text",
    "code": "plain_text",
}


class Heading(msgspec.Struct, frozen=True, array_like=True):
    """A heading: the line of its chunk that it is or stands before, from 0 on, and how deep it is, from 1 on."""

    at: int
    level: int
    text: str


class Chunk(msgspec.Struct, frozen=True, array_like=True):
    """Lines that follow each other, of one page; the next chunk of the same page goes on with them."""

    # From 1 on; None where there are no pages.
    page: int | None
    lines: list[str]
    headings: list[Heading] = []


class Opened(msgspec.Struct, frozen=True):
    """A file that a reader can begin with."""

    path: str
    name: str
    kind: DocumentKind
    # Tells how many pages there are, where that is known before they are read.
    tell_pages: Callable[[int], None]


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """Begin with a file, or go on with the one that was begun."""

    path: str
    name: str
    go_on: bool = False


class Portion(msgspec.Struct, frozen=True, array_like=True):
    """What was read next."""

    kind: DocumentKind
    chunks: list[Chunk]
    is_last: bool
    # What was not read, in a sentence.
    note: str = ""


class _Reading:
    """A file that is being read, within the bounds of a document."""

    def __init__(self, asked: Asked) -> None:
        self.kind = kind_of(asked.path, asked.name)
        self._pages_in_all = 0
        self._page: int | None = None
        self._pages = self._characters = 0
        reader = import_module(f"pilothouse.documents.{_READERS[self.kind]}").read
        self._chunks: Iterator[Chunk] = reader(Opened(asked.path, asked.name, self.kind, self._told))
        self.note = ""

    def _told(self, pages: int) -> None:
        self._pages_in_all = pages

    def portion(self) -> Portion:
        """Return as much as one answer takes."""
        chunks: list[Chunk] = []
        room = limits.DOCUMENT_ANSWER_CHARS
        for chunk in self._chunks:
            fitting = self._within(chunk)
            if fitting is None:
                return Portion(self.kind, chunks, True, self.note)
            chunks.append(fitting)
            room -= sum(map(len, fitting.lines)) + len(fitting.lines)
            if room <= 0:
                return Portion(self.kind, chunks, False)
        return Portion(self.kind, chunks, True, self.note)

    def _within(self, chunk: Chunk) -> Chunk | None:
        """Return a chunk as far as a document goes; None when it has ended before."""
        if chunk.page is not None and chunk.page != self._page:
            self._page = chunk.page
            self._pages += 1
        if self._pages > limits.DOCUMENT_PAGES:
            of_all = f" of {self._pages_in_all:,}" if self._pages_in_all else ""
            self.note = f"Only the first {limits.DOCUMENT_PAGES:,}{of_all} pages were read."
            return None
        if self._characters >= limits.DOCUMENT_CHARS:
            self.note = f"Only the first {limits.DOCUMENT_CHARS:,} characters were read."
            return None
        self._characters += sum(map(len, chunk.lines)) + len(chunk.lines)
        return chunk


_begun: list[_Reading] = []


def read(asked: Asked) -> Portion:
    """Return the next portion of a file; raise a PilothouseError that says what is wrong with it."""
    if not asked.go_on:
        _begun[:] = [_Reading(asked)]
    return _begun[0].portion()


def in_chunks(page: int | None, lines: list[str], headings: list[Heading]) -> Iterator[Chunk]:
    """Yield the lines of a page in chunks that fit into an answer."""
    first, size = 0, 0
    for at, line in enumerate(lines):
        size += len(line) + 1
        if size > limits.DOCUMENT_ANSWER_CHARS // 2:
            yield _cut(page, lines, headings, (first, at + 1))
            first, size = at + 1, 0
    if first < len(lines):
        yield _cut(page, lines, headings, (first, len(lines)))


def _cut(page: int | None, lines: list[str], headings: list[Heading], place: tuple[int, int]) -> Chunk:
    first, end = place
    within = [Heading(each.at - first, each.level, each.text) for each in headings if first <= each.at < end]
    return Chunk(page, lines[first:end], within)
