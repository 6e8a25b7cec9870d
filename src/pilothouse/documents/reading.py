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


# A portion ends with the chunk that fills it; the largest characters take four bytes each.
_CHUNK = limits.DOCUMENT_ANSWER_CHARS // 4


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
    # Its first line is the rest of the one before.
    goes_on: bool = False


class Opened(msgspec.Struct, frozen=True):
    """A file that a reader can begin with."""

    path: str
    name: str
    kind: DocumentKind
    # Tells how many pages there are, where that is known before they are read.
    tell_pages: Callable[[int], None]
    # Takes a sentence about what was left out.
    tell_left_out: Callable[[str], None]


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
        opened = Opened(asked.path, asked.name, self.kind, self._told, self._left_out)
        self._chunks: Iterator[Chunk] = with_short_lines(reader(opened))
        self._notes: list[str] = []

    @property
    def note(self) -> str:
        """Return what was not read, in sentences."""
        return " ".join(self._notes)

    def _left_out(self, sentence: str) -> None:
        self._notes.append(sentence)

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
            self._notes.append(f"Only the first {limits.DOCUMENT_PAGES:,}{of_all} pages were read.")
            return None
        if self._characters >= limits.DOCUMENT_CHARS:
            self._notes.append(f"Only the first {limits.DOCUMENT_CHARS:,} characters were read.")
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
        if size > _CHUNK:
            yield _cut(page, lines, headings, (first, at + 1))
            first, size = at + 1, 0
    if first < len(lines):
        yield _cut(page, lines, headings, (first, len(lines)))


def with_short_lines(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Yield chunks in which no line is longer than a chunk: a longer one goes on in the chunks that follow."""
    for chunk in chunks:
        first = 0
        for at, line in enumerate(chunk.lines):
            if len(line) <= _CHUNK:
                continue
            # The line itself belongs to the chunk with those before it.
            before = _cut(chunk.page, chunk.lines, chunk.headings, (first, at + 1))
            before.lines[-1] = line[:_CHUNK]
            yield before
            for begin in range(_CHUNK, len(line), _CHUNK):
                yield Chunk(chunk.page, [line[begin : begin + _CHUNK]], goes_on=True)
            first = at + 1
        if first == 0:
            yield chunk
        elif first < len(chunk.lines):
            yield _cut(chunk.page, chunk.lines, chunk.headings, (first, len(chunk.lines)))


def _cut(page: int | None, lines: list[str], headings: list[Heading], place: tuple[int, int]) -> Chunk:
    first, end = place
    within = [Heading(each.at - first, each.level, each.text) for each in headings if first <= each.at < end]
    return Chunk(page, lines[first:end], within)
