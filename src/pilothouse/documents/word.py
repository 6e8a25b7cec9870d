"""Reads Word documents: paragraphs, headings by their styles, tables row by row, notes at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pilothouse.documents.lines import Lines
from pilothouse.documents.office import Attributes, Enough, Package, attribute, no_end, no_text
from pilothouse.documents.reading import Chunk, Opened, in_chunks

_HEADING = re.compile(r"heading ([1-9])$", re.IGNORECASE)
# The levels of an outline, counted from 0; 9 is none.
_OUTLINES = frozenset("012345678")
_TITLES = {"title": 1, "subtitle": 2}
# What stands in a document twice: here for programs that do not know the first form.
_AGAIN = "Fallback"
_SIGNS = {"tab": "\t", "noBreakHyphen": "-"}
_NOTES = (("footnotes", "Footnotes"), ("endnotes", "Endnotes"))


def read(opened: Opened) -> Iterator[Chunk]:
    """Yield the pages as Word last laid them out; one that was never laid out has none."""
    with Package(opened.path, opened.name) as package:
        main = package.main("word/document.xml")
        body = _Body(_levels(package, main))
        _parse(package, main, body)
        folder = main.rpartition("/")[0]
        for part, title in _NOTES:
            if package.has(f"{folder}/{part}.xml"):
                notes = _Body({})
                _parse(package, f"{folder}/{part}.xml", notes)
                body.add_notes(title, notes)
    pages = body.pages
    for number, page in enumerate(pages, 1):
        yield from in_chunks(number if len(pages) > 1 else None, page.lines, page.headings)


def _parse(package: Package, part: str, body: _Body) -> None:
    try:
        package.parse(part, body.start, body.end, body.text)
    except Enough:
        return


def _levels(package: Package, main: str) -> dict[str, int]:
    """Return the level of heading that a style stands for, by its id."""
    levels: dict[str, int] = {}
    style = ""

    def start(name: str, attributes: Attributes) -> None:
        nonlocal style
        if name == "style":
            style = attribute(attributes, "styleId")
        elif name == "name" and style:
            called = attribute(attributes, "val")
            heading = _HEADING.match(called)
            level = int(heading[1]) if heading else _TITLES.get(called.lower(), 0)
            if level:
                levels[style] = level
        elif name == "outlineLvl" and style:
            outline = attribute(attributes, "val")
            if outline in _OUTLINES:
                levels.setdefault(style, int(outline) + 1)

    package.parse(f"{main.rpartition('/')[0]}/styles.xml", start, no_end, no_text)
    return levels


class _Body:
    """Collects the paragraphs of a part."""

    def __init__(self, levels: dict[str, int]) -> None:
        self._levels = levels
        self.pages = [Lines()]
        self._paragraph: list[str] = []
        self._level = 0
        self._is_text = False
        self._skipped = 0
        # Of each table around the present place: the cells of its row so far.
        self._rows: list[list[list[str]]] = []

    def start(self, name: str, attributes: Attributes) -> None:
        """Hear of an element's beginning."""
        if name == _AGAIN:
            self._skipped += 1
        if self._skipped:
            return
        match name:
            case "p":
                self._paragraph, self._level = [], 0
            case "pStyle":
                self._level = self._levels.get(attribute(attributes, "val"), 0)
            case "t":
                self._is_text = True
            case "tab" | "noBreakHyphen":
                self._paragraph.append(_SIGNS[name])
            case "br" | "cr" | "lastRenderedPageBreak":
                self._break(name, attribute(attributes, "type"))
            case "tbl":
                self._rows.append([])
            case "tc" if self._rows:
                self._rows[-1].append([])

    def end(self, name: str) -> None:
        """Hear of an element's end."""
        if name == _AGAIN:
            self._skipped -= 1
        if self._skipped:
            return
        match name:
            case "t":
                self._is_text = False
            case "p":
                self._end_paragraph()
            case "tr" if self._rows:
                self._end_row()
            case "tbl" if self._rows:
                self._rows.pop()
        if self.pages[-1].is_full:
            raise Enough

    def text(self, text: str) -> None:
        """Hear of text."""
        if self._is_text and not self._skipped:
            self._paragraph.append(text)

    def add_notes(self, title: str, notes: _Body) -> None:
        """Put notes at the end."""
        lines = [line for page in notes.pages for line in page.lines]
        if any(line.strip() for line in lines):
            self.pages[-1].paragraph(title, level=1, apart=True)
            self.pages[-1].lines += lines

    def _break(self, name: str, kind: str) -> None:
        if name == "lastRenderedPageBreak" or kind == "page":
            # Two marks of one break are one; what stands before it stays on its page.
            if any(self._paragraph):
                self._add("".join(self._paragraph))
                self._paragraph = []
            if self.pages[-1].lines:
                self.pages.append(Lines())
        else:
            self._paragraph.append("\n")

    def _end_paragraph(self) -> None:
        self._add("".join(self._paragraph))
        self._paragraph = []

    def _add(self, text: str) -> None:
        if self._rows and self._rows[-1]:
            self._rows[-1][-1].append(" ".join(text.split()))
        else:
            self.pages[-1].paragraph(text, level=self._level, apart=True)

    def _end_row(self) -> None:
        cells = [" ".join(filter(None, cell)) for cell in self._rows[-1]]
        self._rows[-1].clear()
        row = " | ".join(cells).strip()
        if not row.strip("| "):
            return
        outer = next((rows for rows in reversed(self._rows[:-1]) if rows), None)
        if outer is not None:
            outer[-1].append(row)
        else:
            self.pages[-1].lines.append(row)
            self.pages[-1].characters += len(row)
