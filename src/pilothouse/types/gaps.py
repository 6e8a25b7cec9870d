"""The gap in a text that was too large: what stands in its place, and where it is."""

from __future__ import annotations

import re

_LINE = re.compile(r"\n\[… [0-9,]+ characters left out …\]\n")
# No such line is longer.
_LONGEST = 80


def shares(room: int) -> tuple[int, int]:
    """Return how many characters the beginning and the end have of a room."""
    return room * 2 // 3, room // 3


def with_gap(first: str, last: str, missing: int) -> str:
    """Return a beginning and an end with the line that says how much is missing between them."""
    return f"{first}\n[… {missing:,} characters left out …]\n{last}"


def gap_at(text: str) -> int | None:
    """Return the offset of the gap in a text that was cut; None where it has none.

    It is looked for only where it must be: such a line elsewhere is a part of what someone wrote.
    """
    middle = len(text) * 2 // 3
    for found in _LINE.finditer(text, max(0, middle - _LONGEST), middle + _LONGEST):
        first, last = found.start(), len(text) - found.end()
        if (first, last) == shares(first + last) or (first, last) == shares(first + last + 1):
            return first
    return None


def not_kept(text: str) -> str:
    """Return in words what is missing of a text of a result that was too large to keep."""
    offset = gap_at(text)
    if offset is None:
        return "not all of this result was kept: it was too large"
    line = text.count("\n", 0, offset) + 2
    return (
        f"its middle was too large to keep: the gap is line {line:,}, at offset {offset:,}, and line numbers after"
        " it are not the original's"
    )
