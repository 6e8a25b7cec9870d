"""Reads HTML: what a person would see of it, with its headings; nothing is fetched and nothing runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pilothouse.documents.hiding import Hiding
from pilothouse.documents.lines import Lines
from pilothouse.documents.markup import pieces
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


def read(opened: Opened) -> Iterator[Chunk]:
    """Yield the text of the page."""
    page = _Page()
    for name, text in pieces(_text(Path(opened.path).read_bytes(), opened.name)):
        page.take(name, text)
        if page.out.is_full:
            break
    page.end_block()
    if page.hidden:
        opened.tell_left_out(f"{page.hidden:,} characters that no reader of the page sees were left out.")
    yield from in_chunks(None, page.out.lines, page.out.headings)


def _text(content: bytes, name: str) -> str:
    named = None if encoding_mark(content)[0] else _CHARSET.search(content[:_CHARSET_WITHIN])
    if named:
        try:
            return content.decode(named[1].decode())
        except (LookupError, UnicodeDecodeError):
            return decoded(content, name)
    return decoded(content, name)


class _Page:
    """Collects the blocks of a page."""

    def __init__(self) -> None:
        self.out = Lines()
        self._block: list[str] = []
        self._level = 0
        self._unseen = ""
        self._as_written = 0
        self._hiding = Hiding()
        # Characters that a reader of the page does not see.
        self.hidden = 0

    def take(self, name: str, text: str) -> None:
        """Hear of the next piece."""
        if not name:
            self._said(text)
        elif name.startswith("/"):
            self._ended(name[1:])
        elif not self._hiding.began(name, text):
            self._began(name)

    def _began(self, name: str) -> None:
        if name == "title":
            # What a page is called stands where nothing else is seen.
            self._unseen = ""
        if self._unseen:
            return
        if name in _UNSEEN:
            self.end_block()
            self._unseen = name
            return
        if name in _BLOCKS:
            self.end_block()
        if name in _CELLS and self._block:
            self._block.append(" | ")
        if name == "li":
            self._block.append("- ")
        if name == "pre":
            self._as_written += 1
        self._level = _HEADINGS.get(name, self._level)

    def _ended(self, name: str) -> None:
        self._hiding.ended(name)
        if self._hiding.is_on:
            return
        if self._unseen:
            self._unseen = "" if name == self._unseen else self._unseen
            return
        if name in _BLOCKS or name == "title":
            self.end_block()
        if name == "pre":
            self._as_written = max(0, self._as_written - 1)

    def _said(self, text: str) -> None:
        if self._hiding.is_on:
            self.hidden += len(text.strip())
        elif not self._unseen:
            # In a page the end of a line is a space.
            self._block.append(text if self._as_written else re.sub(r"\s+", " ", text))

    def end_block(self) -> None:
        """Make what was collected a paragraph."""
        text, self._block = "".join(self._block), []
        if self._as_written and text.strip():
            self.out.lines += [line.rstrip() for line in text.strip("\n").split("\n")]
            self.out.characters += len(text)
        elif text.strip() not in ("", "-"):
            self.out.paragraph(text, level=self._level, apart=bool(self._level))
        self._level = 0
