"""Reads text as it is, line by line: Markdown with its headings, CSV with its columns, code, anything else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pilothouse.documents.reading import Chunk, Heading, Opened, in_chunks
from pilothouse.documents.sniffing import encoding_mark, refused
from pilothouse.types import limits

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")


def read(opened: Opened) -> Iterator[Chunk]:
    """Yield the lines of the file, by the numbers that an editor shows."""
    lines = decoded(Path(opened.path).read_bytes(), opened.name).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    headings: list[Heading] = []
    if opened.kind == "markdown":
        headings = _headings(lines)
    elif opened.kind == "csv" and lines:
        headings = [Heading(0, 1, f"Columns: {lines[0]}"[: limits.HEADING_CHARS])]
    yield from in_chunks(None, lines, headings)


def decoded(content: bytes, name: str) -> str:
    """Return a content as text: as its mark says, as UTF-8, or as what old Windows programs write."""
    mark, encoding = encoding_mark(content)
    for each in (encoding or "utf-8", "cp1252"):
        try:
            text = content[len(mark) :].decode(each)
        except UnicodeDecodeError:
            mark = b""
            continue
        if _is_text(text):
            return text.replace("\x00", "").replace("\x0c", "\n")
    text = content.decode("latin-1")
    if not _is_text(text):
        raise refused(name, "is neither a document nor text", "Documents are PDF, Office files, HTML and other text.")
    return text.replace("\x00", "").replace("\x0c", "\n")


def _is_text(text: str) -> bool:
    """Return whether a text is one: what was never meant to be read has control characters everywhere."""
    head = text[: limits.FILE_SNIFF_BYTES]
    odd = sum(character < " " and character not in "\t\n\r\x0c\x1b" for character in head)
    return odd * 20 <= len(head)


def _headings(lines: list[str]) -> list[Heading]:
    found: list[Heading] = []
    fence = ""
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            continue
        if fence:
            continue
        heading = _HEADING.match(line[: 2 * limits.HEADING_CHARS])
        if heading:
            title = heading[2].rstrip().rstrip("#").rstrip()[: limits.HEADING_CHARS]
            found.append(Heading(at, len(heading[1]), title))
        elif at and lines[at - 1].strip() and len(line) < limits.HEADING_CHARS and (under := _UNDERLINE.match(line)):
            title = lines[at - 1].strip()[: limits.HEADING_CHARS]
            found.append(Heading(at - 1, 1 if under[1].startswith("=") else 2, title))
    return found
