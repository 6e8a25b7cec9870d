"""Tables in a terminal: aligned columns that fit its width."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence

from pilothouse.cli.terminal import Terminal, messages, one_line
from pilothouse.cli.wrapping import text_width
from pilothouse.types.models import FileProblem

GAP = 2
# A last column that has less room than this stands on a line of its own.
LEAST = 20


def show_table(out: Terminal, head: Sequence[str], rows: Sequence[Sequence[str]], none: str = "") -> None:
    """Print rows under a head, or say aside that there are none.

    On a terminal the last column is cut to the line, or has one of its own.
    """
    if not rows and none:
        messages().line(none)
        return
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(text_width, column)) for column in zip(head, *cells, strict=True)]
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


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    *first, last = cells
    return "".join(_padded(first, widths)) + cut(last, widths[-1])


def _padded(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [cell + " " * (wide - text_width(cell) + GAP) for cell, wide in zip(cells, widths, strict=False)]


def cut(text: str, columns: int) -> str:
    """Return as much of a text as fits, with a sign that there is more."""
    if text_width(text) <= columns:
        return text
    while text and text_width(text) >= columns:
        text = text[:-1]
    return text + "…"


def counted(number: int, what: str) -> str:
    """Return a number with what it counts, in the plural where it must be."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def when(at: float) -> str:
    """Return a day and a time of it."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def tell_problem(problem: FileProblem | None, then: str = "") -> None:
    """Say aside what is wrong with a settings file, where, and what comes of it."""
    if problem is not None:
        place = f", line {problem.line}" if problem.line else ""
        messages().line(one_line(f"{problem.file}{place}: {problem.message} {then}"), "yellow")
