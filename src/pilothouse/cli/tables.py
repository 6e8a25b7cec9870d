"""Tables in a terminal: aligned columns that fit its width."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Sequence

from pilothouse.cli.terminal import Terminal, one_line

GAP = 2


def show_table(out: Terminal, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a head; the last column takes what is left of the line, and is cut on a terminal only."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(head, *cells, strict=True)]
    room = shutil.get_terminal_size().columns - sum(widths[:-1]) - GAP * (len(widths) - 1)
    if out.is_terminal:
        widths[-1] = max(room, 8)
    out.line(_row(head, widths), "dim")
    for row in cells:
        out.line(_row(row, widths))


def width(text: str) -> int:
    """Return how many columns a text takes."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    *first, last = cells
    padded = [cell + " " * (wide - width(cell) + GAP) for cell, wide in zip(first, widths, strict=False)]
    return "".join(padded) + cut(last, widths[-1])


def cut(text: str, columns: int) -> str:
    """Return as much of a text as fits, with a sign that there is more."""
    if width(text) <= columns:
        return text
    while text and width(text) >= columns:
        text = text[:-1]
    return text + "…"
