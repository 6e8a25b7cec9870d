"""What the benchmarks' processes tell each other, and how it is printed."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec


class Read(msgspec.Struct):
    """What one reader got."""

    tokens: int
    characters: int
    events: int
    status: str
    # Nanoseconds from the model's write to the reader's read, for tokens that carry a stamp.
    delays: list[int]


def machine() -> str:
    """Return what the numbers were measured on."""
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def table(title: str, rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a title, the first column to the left and the others to the right."""
    print(f"\n{title} ({machine()})")
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for name, *cells in rows:
        rest = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        print("  " + "  ".join([name.ljust(widths[0]), *rest]))


def verdict(name: str, value: float, most: float, unit: str = "") -> None:
    """Print whether a number is within its target."""
    print(f"  {'ok  ' if value <= most else 'OVER'} {name}: {value:.2f}{unit}, target at most {most:g}{unit}")
