"""Differences between two texts as people read them: unified, bounded, and quick for large files too."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import msgspec

from pilothouse.tools.files.contents import lines_of
from pilothouse.types import limits

_AROUND = 3
_NOTHING = "/dev/null"


class Diff(msgspec.Struct, frozen=True):
    """A unified diff, shortened where it is long, and the lines that it adds and removes in all."""

    text: str
    added: int = 0
    removed: int = 0


def diff(before: str | None, after: str | None, old: str, new: str, most: int = limits.DIFF_CHARS) -> Diff:
    """Return the difference of two texts; None stands for a file that is not there."""
    first, second = _lines(before), _lines(after)
    groups, added, removed = _compared(first, second)
    if not groups:
        return Diff("")
    head = f"--- {_NOTHING if before is None else old}\n+++ {_NOTHING if after is None else new}\n"
    pieces, room = [head], most - len(head)
    for group in groups:
        hunk = _hunk(group, first, second)
        if len(hunk) > room:
            pieces.append(hunk[: hunk.rfind("\n", 0, max(room, 0)) + 1] if room > 0 else "")
            pieces.append("… the rest of this difference is left out\n")
            break
        pieces.append(hunk)
        room -= len(hunk)
    return Diff("".join(pieces), added, removed)


_Step = tuple[str, int, int, int, int]


def _lines(text: str | None) -> list[str]:
    return lines_of(text) if text else []


def _compared(first: list[str], second: list[str]) -> tuple[list[list[_Step]], int, int]:
    """Return the hunks as steps, and the lines added and removed; only what differs is compared line by line."""
    shorter = min(len(first), len(second))
    head = _alike(zip(first, second, strict=False), shorter)
    tail = _alike(zip(reversed(first), reversed(second), strict=False), shorter - head)
    inner = _steps(first[head : len(first) - tail], second[head : len(second) - tail])
    steps = [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in inner]
    if all(step[0] == "equal" for step in steps):
        return [], 0, 0
    added = sum(d - c for tag, _a, _b, c, d in steps if tag != "equal")
    removed = sum(b - a for tag, a, b, _c, _d in steps if tag != "equal")
    return _grouped(steps, head, tail, (len(first), len(second))), added, removed


def _alike(pairs: Iterable[tuple[str, str]], most: int) -> int:
    """Return how many pairs of lines from the beginning are the same."""
    return min(next((at for at, (one, two) in enumerate(pairs) if one != two), most), most)


def _steps(first: list[str], second: list[str]) -> list[_Step]:
    if max(len(first), len(second)) > limits.DIFF_LINES:
        return [("replace", 0, len(first), 0, len(second))]
    matcher = difflib.SequenceMatcher(None, first, second)
    return [(tag, a, b, c, d) for tag, a, b, c, d in matcher.get_opcodes()]


def _grouped(steps: list[_Step], head: int, tail: int, ends: tuple[int, int]) -> list[list[_Step]]:
    """Put steps that are near each other into one hunk, with a few lines around it."""
    before = min(head, _AROUND)
    around = [("equal", head - before, head, head - before, head), *steps]
    after = min(tail, _AROUND)
    around.append(("equal", ends[0] - tail, ends[0] - tail + after, ends[1] - tail, ends[1] - tail + after))
    groups: list[list[_Step]] = [[]]
    for position, (tag, a, b, c, d) in enumerate(around):
        if tag == "equal" and b - a > 2 * _AROUND and 0 < position < len(around) - 1:
            groups[-1].append((tag, a, a + _AROUND, c, c + _AROUND))
            groups.append([(tag, b - _AROUND, b, d - _AROUND, d)])
        else:
            groups[-1].append((tag, a, b, c, d))
    return [group for group in groups if any(step[0] != "equal" for step in group)]


def _hunk(group: list[_Step], first: list[str], second: list[str]) -> str:
    a, b, c, d = group[0][1], group[-1][2], group[0][3], group[-1][4]
    pieces = [f"@@ -{_range(a, b)} +{_range(c, d)} @@\n"]
    for tag, old, old_end, new, new_end in group:
        if tag == "equal":
            pieces += [_line(" ", line) for line in first[old:old_end]]
        else:
            pieces += [_line("-", line) for line in first[old:old_end]]
            pieces += [_line("+", line) for line in second[new:new_end]]
    return "".join(pieces)


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"
