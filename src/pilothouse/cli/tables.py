"""Tables in a terminal: aligned columns that fit its width."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Sequence

from pilothouse.cli.terminal import Terminal, one_line

GAP = 2
# A last column that has less room than this stands on a line of its own.
LEAST = 20


def show_table(out: Terminal, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a head; on a terminal the last column is cut to the line, or has one of its own."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(head, *cells, strict=True)]
    if not out.is_terminal:
        _print(out, head, cells, widths)
        return
    columns = shutil.get_terminal_size().columns
    room = columns - sum(widths[:-1]) - GAP * (len(widths) - 1)
    if room >= min(widths[-1], LEAST):
        _print(out, head, cells, [*widths[:-1], room])
        return
    out.line("".join(_padded(head[:-1], widths)).rstrip(), "dim")
    for *first, last in cells:
        out.line("".join(_padded(first, widths)).rstrip())
        out.line(" " * GAP + cut(last, columns - GAP))


def _print(out: Terminal, head: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> None:
    out.line(_row(head, widths), "dim")
    for row in rows:
        out.line(_row(row, widths))


def width(text: str) -> int:
    """Return how many columns a text takes."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    *first, last = cells
    return "".join(_padded(first, widths)) + cut(last, widths[-1])


def _padded(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [cell + " " * (wide - width(cell) + GAP) for cell, wide in zip(cells, widths, strict=False)]


def cut(text: str, columns: int) -> str:
    """Return as much of a text as fits, with a sign that there is more."""
    if width(text) <= columns:
        return text
    while text and width(text) >= columns:
        text = text[:-1]
    return text + "…"


def counted(number: int, what: str) -> str:
    """Return a number with what it counts, in the plural where it must be."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
