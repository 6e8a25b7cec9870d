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
    for row in rows:
        cells = [cell.ljust(width) if not index else cell.rjust(width) for index, (cell, width) in enumerate(zip(row, widths, strict=True))]
        print("  " + "  ".join(cells).rstrip())


def verdict(name: str, value: float, most: float, unit: str = "") -> None:
    """Print whether a number is within its target."""
    print(f"  {'ok  ' if value <= most else 'OVER'} {name}: {value:.2f}{unit}, target at most {most:g}{unit}")
