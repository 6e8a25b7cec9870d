"""Reads spreadsheets: each sheet is a page, each row a line, cells as a person sees them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator

from pilothouse.documents.office import (
    Attributes,
    Enough,
    Package,
    attribute,
    no_end,
    no_text,
    relation_id,
)
from pilothouse.documents.reading import Chunk, Heading, Opened, in_chunks
from pilothouse.types import limits

_CELL = re.compile(r"([A-Z]{1,3})([0-9]{1,7})$")
# The formats of dates and times that have a number of their own.
_DATES = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
# A format's letters for dates, outside of quoted words and of colours.
_QUOTED = re.compile(r'"[^"]{0,80}"|\[[^\]]{0,80}\]|\\.')
_DATE_LETTERS = re.compile(r"[ymdhs]", re.IGNORECASE)
_EPOCH, _EPOCH_1904 = datetime.datetime(1899, 12, 30), datetime.datetime(1904, 1, 1)
_DAYS = 2_958_466


def read(opened: Opened) -> Iterator[Chunk]:
    """Yield the sheets in their order; the name of each is its heading."""
    with Package(opened.path, opened.name) as package:
        main = package.main("xl/workbook.xml")
        folder, relations = main.rpartition("/")[0], package.relations(main)
        book = _Book()
        package.parse(main, book.start, no_end, no_text)
        shared = _Shared()
        _parse(package, f"{folder}/sharedStrings.xml", shared)
        dates = _dates(package, f"{folder}/styles.xml")
        opened.tell_pages(len(book.sheets))
        for number, (name, relation) in enumerate(book.sheets, 1):
            if relation not in relations:
                continue
            sheet = _Sheet(shared.texts, dates, _EPOCH_1904 if book.is_1904 else _EPOCH)
            _parse(package, relations[relation].target, sheet)
            heading = Heading(0, 1, f"Sheet {name}"[: limits.HEADING_CHARS])
            yield from in_chunks(number, sheet.lines or [""], [heading])


def _parse(package: Package, part: str, into: _Shared | _Sheet) -> None:
    try:
        package.parse(part, into.start, into.end, into.text)
    except Enough:
        return


class _Book:
    """The sheets of a workbook, and from when its days are counted."""

    def __init__(self) -> None:
        self.sheets: list[tuple[str, str]] = []
        self.is_1904 = False

    def start(self, name: str, attributes: Attributes) -> None:
        """Hear of an element's beginning."""
        if name == "sheet" and attribute(attributes, "state") not in ("hidden", "veryHidden"):
            self.sheets.append((attribute(attributes, "name"), relation_id(attributes)))
        elif name == "workbookPr":
            self.is_1904 = attribute(attributes, "date1904") in ("1", "true")


class _Shared:
    """The texts that cells refer to by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._text: list[str] = []
        self._is_text = self._is_sound = False
        self._characters = 0

    def start(self, name: str, attributes: Attributes) -> None:
        """Hear of an element's beginning."""
        if name == "si":
            self._text = []
        elif name == "rPh":
            self._is_sound = True
        elif name == "t":
            self._is_text = not self._is_sound

    def end(self, name: str) -> None:
        """Hear of an element's end."""
        if name == "si":
            self.texts.append(" ".join("".join(self._text).split()))
        elif name == "rPh":
            self._is_sound = False
        elif name == "t":
            self._is_text = False

    def text(self, text: str) -> None:
        """Hear of text."""
        if self._is_text:
            self._text.append(text)
            self._characters += len(text)
            if self._characters > 4 * limits.DOCUMENT_CHARS:
                raise Enough


def _dates(package: Package, part: str) -> list[bool]:
    """Return of each style of cells whether it shows a day or a time."""
    custom: set[int] = set()
    styles: list[bool] = []
    is_cells = False

    def start(name: str, attributes: Attributes) -> None:
        nonlocal is_cells
        if name == "numFmt":
            code = _QUOTED.sub("", attribute(attributes, "formatCode")[: limits.HEADING_CHARS])
            if _DATE_LETTERS.search(code):
                custom.add(_number(attribute(attributes, "numFmtId")))
        elif name in ("cellXfs", "cellStyleXfs"):
            is_cells = name == "cellXfs"
        elif name == "xf" and is_cells:
            number = _number(attribute(attributes, "numFmtId"))
            styles.append(number in _DATES or number in custom)

    package.parse(part, start, no_end, no_text)
    return styles


class _Sheet:
    """Collects the rows of a sheet as lines; a line's number is its row's."""

    def __init__(self, shared: list[str], dates: list[bool], epoch: datetime.datetime) -> None:
        self._shared = shared
        self._dates = dates
        self._epoch = epoch
        self.lines: list[str] = []
        self._cells: dict[int, str] = {}
        self._row = self._column = self._read = self._characters = 0
        self._kind = ""
        self._is_date = self._is_value = False
        self._value: list[str] = []

    def start(self, name: str, attributes: Attributes) -> None:
        """Hear of an element's beginning."""
        match name:
            case "row":
                self._row = _number(attribute(attributes, "r")) or self._row + 1
                self._column, self._cells = 0, {}
            case "c":
                place = _CELL.match(attribute(attributes, "r"))
                self._column = _column(place[1]) if place else self._column + 1
                self._kind, self._value = attribute(attributes, "t"), []
                style = _number(attribute(attributes, "s"))
                self._is_date = style < len(self._dates) and self._dates[style]
            case "v" | "t":
                self._is_value = True

    def end(self, name: str) -> None:
        """Hear of an element's end."""
        match name:
            case "v" | "t":
                self._is_value = False
            case "c":
                self._end_cell()
            case "row":
                self._end_row()

    def text(self, text: str) -> None:
        """Hear of text."""
        if self._is_value:
            self._value.append(text)

    def _end_cell(self) -> None:
        shown = self._shown("".join(self._value).strip())
        if shown and self._column <= limits.SHEET_COLUMNS:
            self._cells[self._column] = shown
            self._read += 1

    def _shown(self, value: str) -> str:
        if self._kind == "s":
            number = _number(value)
            return self._shared[number] if value and number < len(self._shared) else ""
        if self._kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if self._is_date and not self._kind.startswith(("str", "inl", "e")):
            return self._day(value)
        return " ".join(value.split())

    def _day(self, value: str) -> str:
        try:
            days = float(value)
        except ValueError:
            return value
        if not 0 <= days < _DAYS:
            return value
        when = self._epoch + datetime.timedelta(days=days)
        at = (when + datetime.timedelta(milliseconds=500)).replace(microsecond=0)
        if days < 1:
            return at.time().isoformat()
        return at.date().isoformat() if at.time() == datetime.time() else at.isoformat(" ")

    def _end_row(self) -> None:
        if not self._cells:
            return
        self.lines += [""] * min(max(0, self._row - 1 - len(self.lines)), limits.SHEET_GAP)
        last = max(self._cells)
        line = " | ".join(self._cells.get(column, "") for column in range(1, last + 1))
        self.lines.append(line)
        self._characters += len(line)
        if self._read > limits.SHEET_CELLS or self._characters > limits.DOCUMENT_CHARS:
            raise Enough


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number
