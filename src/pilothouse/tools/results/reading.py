"""Reads a part of a text: characters, lines, lines that match, a path into JSON, rows of a table; tells its shape."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.results import json_paths, tables
from pilothouse.tools.search.patterns import Pattern, regex_pattern
from pilothouse.tools.search.results import counted
from pilothouse.types import limits


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be read of a text, and how many characters may come of it; numbers that are None are not given."""

    text: str
    room: int
    path: str = ""
    pattern: str = ""
    columns: list[str] = []
    offset: int | None = None
    start_line: int | None = None
    end_line: int | None = None
    start_row: int | None = None
    # With a pattern: so many lines around each that matches.
    around: int = 0


class Page(msgspec.Struct, frozen=True):
    """A part of a text, what is left and how to go on; or why there is none, with the code of that."""

    text: str
    code: str = ""


def read(wanted: Wanted) -> Page:
    """Return the part; what cannot be done is a page that says why."""
    try:
        return Page(_read(wanted))
    except BadArgument as error:
        return Page(error.message, error.code)
    except csv.Error as error:
        return Page(f"The table cannot be read: {error}.", "NOT_A_TABLE")


def _read(wanted: Wanted) -> str:
    value: Any = json_paths.at(json_paths.decoded(wanted.text), wanted.path) if wanted.path else None
    if wanted.columns or wanted.start_row is not None:
        return _rows(_table(wanted, value), wanted)
    text = wanted.text
    if wanted.path:
        text = value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
    if wanted.pattern:
        return _matches(text, wanted)
    if wanted.start_line is not None or wanted.end_line is not None:
        return _lines(text, wanted)
    return _characters(text, wanted)


# --- characters and lines ---


def _characters(text: str, wanted: Wanted) -> str:
    begin = wanted.offset or 0
    if begin >= len(text) and begin:
        raise BadArgument(
            f"There are only {len(text):,} characters: the largest `offset` is {max(0, len(text) - 1)}.",
            "BEYOND_THE_END",
        )
    end = min(len(text), begin + wanted.room)
    return _told(text[begin:end], f"characters {begin:,} to {end:,} of {len(text):,}", end < len(text), f"offset {end}")


def _lines(text: str, wanted: Wanted) -> str:
    first = max(1, wanted.start_line or 1)
    if wanted.end_line is not None and wanted.end_line < first:
        raise BadArgument(f"Line {wanted.end_line:,} is before line {first:,}; lines are counted from 1.")
    begin = _nth_line(text, first - 1)
    if begin is None:
        raise BadArgument(_only_lines(text), "BEYOND_THE_END")
    last = first - 1
    lines: list[str] = []
    room, at = wanted.room, begin
    while at < len(text) and (wanted.end_line is None or last < wanted.end_line):
        end = text.find("\n", at) + 1 or len(text)
        if end - at > room and lines:
            break
        lines.append(text[at : at + room] if end - at > room else text[at:end])
        last += 1
        room -= end - at
        at = end
        if room <= 0:
            break
    about = f"lines {first:,} to {last:,} of {_line_count(text):,}"
    if room < 0:
        # One line that is longer than a page is read on by its characters.
        stopped = at + room
        return _told("".join(lines), f"the beginning of line {first:,}", True, f"offset {stopped}")
    return _told("".join(lines), about, at < len(text), f"start_line {last + 1}")


def _nth_line(text: str, number: int) -> int | None:
    """Return where a line begins, counted from 0; None when there are not so many."""
    at = 0
    for _ in range(number):
        at = text.find("\n", at) + 1
        if not at or at >= len(text):
            return None
    return at


def _line_count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def _only_lines(text: str) -> str:
    count = _line_count(text)
    return f"There {'is' if count == 1 else 'are'} only {counted(count, 'line')}."


# --- lines that match ---


class _Match(msgspec.Struct, frozen=True):
    """A line with a match, or of a long line what stands around it."""

    line: int
    offset: int
    text: str


def _matches(text: str, wanted: Wanted) -> str:
    pattern = regex_pattern(wanted.pattern, case_sensitive=True, name="pattern")
    first = max(1, wanted.start_line or 1)
    shown: list[str] = []
    room, count = wanted.room, 0
    surroundings = _Surroundings(text, wanted.around)
    for found in _found(text, pattern, first, wanted.offset or 0):
        line = f"{found.line}: {found.text}" if found.offset < 0 else f"{found.line} at {found.offset}: {found.text}"
        before = surroundings.up_to(found.line)
        room -= sum(len(each) + 1 for each in (*before, line))
        if room < 0 and shown:
            on = f"start_line {found.line}" + (f" and offset {found.offset}" if found.offset >= 0 else "")
            return _told("\n".join(shown), f"{counted(count, 'match')}, and there are more", True, on)
        shown += [*before, line]
        count += 1
    if not shown:
        return f"[Nothing matches “{wanted.pattern[:100]}” from line {first:,} on.]"
    for line in surroundings.behind():
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    return _told("\n".join(shown), f"{counted(count, 'match')}, all there are from line {first:,} on", False, "")


class _Surroundings:
    """The lines around matches, each once, as `12- text`."""

    def __init__(self, text: str, around: int) -> None:
        self._around = min(around, limits.RESULT_AROUND_LINES)
        self._lines = text.removesuffix("\n").split("\n") if self._around else []
        # The last line that was shown, and the last that matched; counted from 1.
        self._shown = self._matched = 0

    def up_to(self, line: int) -> list[str]:
        """Return what stands between the match before and this one, as far as it is around one of them."""
        behind = range(self._shown + 1, min(self._matched + self._around + 1, line)) if self._matched else range(0)
        before = range(max(line - self._around, behind.stop, self._shown + 1), line)
        self._shown = self._matched = line
        return [self._line(number) for number in (*behind, *before)] if self._around else []

    def behind(self) -> list[str]:
        """Return what stands after the last match."""
        last = min(self._matched + self._around, len(self._lines))
        return [self._line(number) for number in range(self._shown + 1, last + 1)]

    def _line(self, number: int) -> str:
        return f"{number}- {self._lines[number - 1][: limits.RESULT_LINE_CHARS]}"


def _found(text: str, pattern: Pattern, first: int, offset: int) -> Iterator[_Match]:
    """Yield every line that matches, from a line and a character on; of a long line each place that does."""
    start = _nth_line(text, first - 1)
    if start is None:
        raise BadArgument(_only_lines(text), "BEYOND_THE_END")
    start = max(start, min(offset, len(text)))
    # In bytes, as the search takes them; characters are counted along.
    data = bytearray(text.encode())
    at = len(text[:start].encode())
    line, counted, characters = first, at, start
    while at <= len(data) and (span := pattern.find(data, at, len(data))) is not None:
        begin = data.rfind(b"\n", 0, span[0]) + 1
        end = data.find(b"\n", span[0])
        end = len(data) if end < 0 else end
        line += data.count(b"\n", counted, span[0])
        characters += len(data[counted : span[0]].decode(errors="replace"))
        counted = span[0]
        if end - begin <= limits.RESULT_LINE_CHARS:
            yield _Match(line, -1, data[begin:end].decode(errors="replace"))
            at = end + 1
            continue
        around = limits.RESULT_LINE_CHARS // 2
        upto = min(end, max(span[1], span[0] + around))
        piece = data[max(begin, span[0] - around) : min(upto, span[0] + 2 * around)]
        yield _Match(line, characters, piece.decode(errors="ignore"))
        at = max(upto, span[0] + 1)


# --- rows of a table ---


def _table(wanted: Wanted, value: Any) -> tables.Table:
    if wanted.path:
        return tables.of_value(value)
    if json_paths.starts(wanted.text):
        try:
            return tables.of_value(json_paths.decoded(wanted.text))
        except BadArgument as error:
            if error.code != "NOT_JSON":
                raise
    table = tables.of_text(wanted.text)
    if table is None:
        raise BadArgument("This is no table: neither CSV, TSV, Markdown nor a list of objects in JSON.", "NOT_A_TABLE")
    return table


def _rows(table: tables.Table, wanted: Wanted) -> str:
    places = tables.chosen(table, wanted.columns)
    matches = _row_filter(wanted.pattern)
    first = max(0, wanted.start_row or 0)
    shown = [_encoded([table.columns[place] for place in places])]
    room = wanted.room - len(shown[0])
    for number, row in enumerate(islice(table.rows, first, None), first):
        if not matches(row):
            continue
        cells = [row[place] if place < len(row) else None for place in places]
        line = f"{number}: {_encoded(cells)}"
        if len(line) > room:
            if len(shown) > 1:
                return _told(
                    "\n".join(shown),
                    f"{counted(len(shown) - 1, 'row')}, and there are more",
                    True,
                    f"start_row {number}",
                )
            line = f"{line[: max(0, room)]}… (cut; name fewer columns)"
        shown.append(line)
        room -= len(line) + 1
    if len(shown) == 1:
        return f"[No row{' that matches' if wanted.pattern else ''} from row {first:,} on; rows are counted from 0.]"
    return _told("\n".join(shown), f"{counted(len(shown) - 1, 'row')}, all there are from row {first:,} on", False, "")


def _row_filter(pattern: str) -> Callable[[list[Any]], bool]:
    if not pattern:
        return lambda _cells: True
    find = regex_pattern(pattern, case_sensitive=True, name="pattern").find

    def matches(cells: list[Any]) -> bool:
        written = (cell if isinstance(cell, str) else _encoded(cell) for cell in cells)
        return any(find(data := bytearray(cell.encode()), 0, len(data)) is not None for cell in written)

    return matches


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _told(text: str, about: str, is_more: bool, how: str) -> str:
    """Return a part with a line about what it is, and how to read on."""
    return f"{text}\n[{about[0].upper()}{about[1:]}.{f' Go on with {how}.' if is_more else ''}]"


# --- what a text is, in a few words ---


def shape(text: str) -> str:
    """Return what a text is: `JSON, a list of 4,000 objects with id, name`; always how many lines it has."""
    said = counted(max(1, _line_count(text)), "line")
    known = _json_shape(text) or _table_shape(text)
    return f"{said}, {known}" if known else said


def _json_shape(text: str) -> str:
    if not json_paths.starts(text):
        return ""
    try:
        return f"JSON: {json_paths.kind(json_paths.decoded(text))}"
    except BadArgument:
        return ""


def _table_shape(text: str) -> str:
    try:
        table = tables.of_text(text)
        return (
            f"{table.form}: {counted(tables.count(table), 'row')} of {json_paths.names(table.columns)}" if table else ""
        )
    except csv.Error:
        return ""
