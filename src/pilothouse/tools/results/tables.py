"""Tables in a result: CSV, TSV and the like, Markdown's, and lists of objects in JSON."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.results import json_paths
from pilothouse.types import limits

_DELIMITERS = "\t,;|"
_NO_TABLE = "NOT_A_TABLE"
# Below other lines so many rows are needed: sentences have commas, too.
_SURE_ROWS = 20


class Table(msgspec.Struct, frozen=True):
    """A table: the names of its columns, and its rows in turn."""

    columns: list[str]
    rows: Iterator[list[Any]]
    # What it was written in.
    form: str


def of_value(value: Any) -> Table:
    """Return a list of objects as a table."""
    if not isinstance(value, list) or not value or not all(isinstance(row, dict) for row in value):
        raise BadArgument(f"Here is no table but {json_paths.kind(value)}; `path` leads further in.", _NO_TABLE)
    columns = json_paths.columns(value)
    return Table(columns, ([row.get(name) for name in columns] for row in value), "JSON")


def of_text(text: str) -> Table | None:
    """Return the table that a text is; None where it is none that can be told.

    A few lines before it, in which a server says what it is, are passed over.
    """
    table, at = _markdown(text) or _delimited(text), 0
    for _ in range(limits.RESULT_LEAD_LINES):
        at = text.find("\n", at) + 1
        if table is not None or not at:
            break
        table = _delimited(text[at:], _SURE_ROWS)
    return table


def _markdown(text: str) -> Table | None:
    """Return the first table in Markdown: a line of names, and below it one of dashes."""
    lines = (line.strip() for line in text.splitlines())
    before = ""
    for line in lines:
        if before.startswith("|") and line.startswith("|") and _is_ruled(columns := _cells(before), _cells(line)):
            rows = (_cells(row) for row in _while_piped(lines))
            return Table(columns, rows, "Markdown")
        before = line
    return None


def _is_ruled(names: list[str], rule: list[str]) -> bool:
    """Return whether dashes stand below each of several names: pages have tables without any, to lay them out."""
    return len(names) == len(rule) > 1 and any(names) and all(cell.strip(":").strip("-") == "" != cell for cell in rule)


def _while_piped(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if not line.startswith("|"):
            return
        yield line


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _delimited(text: str, least: int = 2) -> Table | None:
    first = [line for line in islice(_lines(text), limits.RESULT_SHAPE_ROWS) if line.strip()]
    for delimiter in _DELIMITERS:
        try:
            counts = {len(row) for row in csv.reader(first[:-1] or first, delimiter=delimiter)}
        except csv.Error:
            continue
        # The last of them may go on in the next line.
        if len(counts) == 1 and counts.pop() > 1 and len(first) >= least:
            rows = (row for row in csv.reader(_lines(text), delimiter=delimiter) if row)
            head = next(rows)
            if not any(map(str.strip, head)):
                continue
            return Table(head, rows, "TSV" if delimiter == "\t" else "CSV")
    return None


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text one at a time, with their ends."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        yield text[begin:end]
        begin = end


def chosen(table: Table, wanted: list[str]) -> list[int]:
    """Return the places of the columns that are wanted, all of them where none is named."""
    if not wanted:
        return list(range(len(table.columns)))
    place = {name: number for number, name in reversed(list(enumerate(table.columns)))}
    if missing := [name for name in wanted if name not in place]:
        there = json_paths.names(table.columns)
        raise BadArgument(f"There is no column “{missing[0][:100]}”; there are {there}.", "NO_COLUMN")
    return [place[name] for name in wanted]


def count(table: Table) -> int:
    """Return how many rows a table has; they are gone then."""
    return sum(1 for _row in chain(table.rows))
