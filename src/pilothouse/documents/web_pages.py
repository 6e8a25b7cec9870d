"""Reads HTML: what a person would see of it, with its headings; nothing is fetched and nothing runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from pilothouse.documents.lines import Lines
from pilothouse.documents.plain_text import decoded
from pilothouse.documents.reading import Chunk, Opened, in_chunks
from pilothouse.documents.sniffing import encoding_mark

_UNSEEN = frozenset({"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "head"})
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "br",
        "caption",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "html",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "tfoot",
        "thead",
        "tr",
        "ul",
    ]
)
_CELLS = frozenset({"td", "th"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CHARSET = re.compile(rb"""charset\s*=\s*["']?([A-Za-z0-9_-]{1,40})""")
_CHARSET_WITHIN = 2_048
# What is given to the parser at a time, so that a text without an end is looked at once.
_PIECE = 64 * 1024


def read(opened: Opened) -> Iterator[Chunk]:
    """Yield the text of the page."""
    parser = _Parser()
    text = _text(Path(opened.path).read_bytes(), opened.name)
    for at in range(0, len(text), _PIECE):
        parser.feed(text[at : at + _PIECE])
        if parser.out.is_full:
            break
    parser.close()
    parser.end_block()
    yield from in_chunks(None, parser.out.lines, parser.out.headings)


def _text(content: bytes, name: str) -> str:
    named = None if encoding_mark(content)[0] else _CHARSET.search(content[:_CHARSET_WITHIN])
    if named:
        try:
            return content.decode(named[1].decode())
        except (LookupError, UnicodeDecodeError):
            return decoded(content, name)
    return decoded(content, name)


class _Parser(HTMLParser):
    """Collects the blocks of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out = Lines()
        self._block: list[str] = []
        self._level = 0
        self._unseen: list[str] = []
        self._as_written = 0
        self._is_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title" and self._unseen == ["head"]:
            self._is_title = True
        if tag in _UNSEEN and (tag != "head" or not self._unseen):
            self._unseen.append(tag)
        if self._unseen:
            return
        if tag in _BLOCKS:
            self.end_block()
        if tag in _CELLS and self._block:
            self._block.append(" | ")
        if tag == "li":
            self._block.append("- ")
        if tag == "pre":
            self._as_written += 1
        self._level = _HEADINGS.get(tag, self._level)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title" and self._is_title:
            self._is_title = False
            self.end_block()
        if self._unseen and tag in self._unseen:
            del self._unseen[self._unseen.index(tag) :]
            return
        if tag in _BLOCKS:
            self.end_block()
        if tag == "pre":
            self._as_written = max(0, self._as_written - 1)

    def handle_data(self, data: str) -> None:
        if self._is_title:
            self._block.append(data)
        elif not self._unseen:
            # In a page the end of a line is a space.
            self._block.append(data if self._as_written else re.sub(r"\s+", " ", data))

    def end_block(self) -> None:
        """Make what was collected a paragraph."""
        text, self._block = "".join(self._block), []
        if self._as_written:
            self.out.lines += [line.rstrip()[:2_000] for line in text.strip("\n").split("\n") if text.strip()]
            self.out.characters += len(text)
        elif text.strip() not in ("", "-"):
            self.out.paragraph(text, level=self._level, apart=bool(self._level))
        self._level = 0
