"""Reads PDF with PDFium; imported by the helper process alone, which is all that has it in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pypdfium2
from pypdfium2 import raw

from pilothouse.documents.reading import Chunk, Heading, Opened, in_chunks
from pilothouse.documents.sniffing import refused
from pilothouse.types import limits

# Entries of the outline that are read; a book has some hundred.
_OUTLINE = 5_000
# What PDFium gives for a hyphen at the end of a line, and for what has no letter.
_SIGNS = str.maketrans({"\x02": "-", "\ufffe": "-", "\uffff": None, "\x00": None, "\x0c": None})


def read(opened: Opened) -> Iterator[Chunk]:
    """Yield the pages with their lines; what the outline names on a page is its heading."""
    document = _open(opened)
    count = len(document)
    opened.tell_pages(count)
    outline = _outline(document)
    for index in range(count):
        lines = _lines(document, index)
        yield from in_chunks(index + 1, lines or [""], _headings(lines, outline.get(index, [])))


def _open(opened: Opened) -> Any:
    try:
        return pypdfium2.PdfDocument(opened.path)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD:
            fix = "Open it with its password and save it without one, then try again."
            raise refused(opened.name, "is encrypted, and opens only with a password", fix) from None
        raise refused(opened.name, "is broken: it is no whole PDF", "Get the file once more and try again.") from None


def _lines(document: Any, index: int) -> list[str]:
    """Return the lines of a page; one that is broken has none, and the others are read."""
    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return []
    try:
        text = page.get_textpage()
        found = str(text.get_text_bounded())
        text.close()
    except pypdfium2.PdfiumError:
        return []
    finally:
        page.close()
    shown = found[: limits.DOCUMENT_PAGE_CHARS].replace("\r\n", "\n").replace("\r", "\n").translate(_SIGNS)
    return [line.rstrip() for line in shown.split("\n")]


def _outline(document: Any) -> dict[int, list[tuple[int, str]]]:
    """Return the headings of the outline by the page that they lead to."""
    found: dict[int, list[tuple[int, str]]] = {}
    try:
        for entry in islice(document.get_toc(), _OUTLINE):
            destination = entry.get_dest()
            index = destination.get_index() if destination is not None else None
            title = " ".join(entry.get_title().translate(_SIGNS).split())[: limits.HEADING_CHARS]
            if index is not None and title:
                found.setdefault(index, []).append((entry.level + 1, title))
    except (pypdfium2.PdfiumError, ValueError):
        # Without an outline there are still the pages.
        return found
    return found


def _headings(lines: list[str], named: list[tuple[int, str]]) -> list[Heading]:
    """Return the headings of a page, each where its words stand, or else at the top."""
    bare = [_bare(line) for line in lines] if named else []
    at, headings = 0, []
    for level, title in named:
        wanted = _bare(title)
        at = next((place for place in range(at, len(bare)) if wanted and wanted in bare[place]), at)
        headings.append(Heading(at, level, title))
    return headings


def _bare(text: str) -> str:
    return "".join(text.lower().split())
