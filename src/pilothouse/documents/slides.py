"""Reads presentations: each slide is a page, its title a heading, its notes at the end of it."""

from __future__ import annotations

from collections.abc import Iterator

from pilothouse.documents.lines import Lines
from pilothouse.documents.office import Attributes, Package, attribute, no_end, no_text, relation_id
from pilothouse.documents.reading import Chunk, Opened, in_chunks

_TITLES = frozenset({"title", "ctrTitle"})
# Numbers, dates and feet that stand on every slide.
_ON_EVERY = frozenset({"sldNum", "dt", "ftr", "hdr"})


def read(opened: Opened) -> Iterator[Chunk]:
    """Yield the slides in the order in which they are shown."""
    with Package(opened.path, opened.name) as package:
        main = package.main("ppt/presentation.xml")
        relations = package.relations(main)
        names = [relations[each].target for each in _shown(package, main) if each in relations]
        opened.tell_pages(len(names))
        for number, part in enumerate(names, 1):
            lines = _slide(package, part)
            yield from in_chunks(number, lines.lines or [""], lines.headings)


def _shown(package: Package, main: str) -> list[str]:
    found: list[str] = []

    def start(name: str, attributes: Attributes) -> None:
        if name == "sldId":
            found.append(relation_id(attributes))

    package.parse(main, start, no_end, no_text)
    return found


def _slide(package: Package, part: str) -> Lines:
    slide = _Shapes()
    package.parse(part, slide.start, slide.end, slide.text)
    for relation in package.relations(part).values():
        if relation.kind == "notesSlide":
            notes = _Shapes()
            package.parse(relation.target, notes.start, notes.end, notes.text)
            if notes.out.lines:
                slide.out.paragraph("Notes:", apart=True)
                slide.out.lines += notes.out.lines
    return slide.out


class _Shapes:
    """Collects the paragraphs of a slide's shapes and tables."""

    def __init__(self) -> None:
        self.out = Lines()
        self._paragraph: list[str] = []
        self._is_text = False
        self._place = ""
        self._cells: list[list[str]] | None = None

    def start(self, name: str, attributes: Attributes) -> None:
        """Hear of an element's beginning."""
        match name:
            case "sp" | "graphicFrame":
                self._place = ""
            case "ph":
                self._place = attribute(attributes, "type")
            case "p":
                self._paragraph = []
            case "t":
                self._is_text = True
            case "br":
                self._paragraph.append("\n")
            case "tr":
                self._cells = []
            case "tc" if self._cells is not None:
                self._cells.append([])

    def end(self, name: str) -> None:
        """Hear of an element's end."""
        match name:
            case "t":
                self._is_text = False
            case "p":
                self._end_paragraph()
            case "tr" if self._cells is not None:
                row = " | ".join(" ".join(cell) for cell in self._cells)
                self._cells = None
                self.out.paragraph(row)

    def text(self, text: str) -> None:
        """Hear of text."""
        if self._is_text:
            self._paragraph.append(text)

    def _end_paragraph(self) -> None:
        text, self._paragraph = "".join(self._paragraph), []
        if self._cells:
            self._cells[-1].append(" ".join(text.split()))
        elif self._place not in _ON_EVERY:
            self.out.paragraph(text, level=1 if self._place in _TITLES else 0)
