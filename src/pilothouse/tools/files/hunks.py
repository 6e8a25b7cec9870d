"""Putting the hunks of a patch into a text: exactly, or with other spaces at the ends of lines; nothing fuzzier."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Sequence

from pilothouse.tools.files.contents import Text, lines_of
from pilothouse.tools.files.patches import BadPatch, FilePatch, Hunk
from pilothouse.types import limits

_SHOWN = 120


def patched(text: Text, patch: FilePatch) -> str:
    """Return a text with all hunks of a patch; raise with the first that does not apply, and why."""
    lines = lines_of(text.text)
    search = _Search(lines, patch.path)
    result: list[str] = []
    done, shift = 0, 0
    for number, hunk in enumerate(patch.hunks, 1):
        expected = hunk.start - 1 + shift if hunk.old else hunk.start + shift
        at = _found(search, hunk, done, expected)
        if at is None:
            which = f"Hunk {number} of {len(patch.hunks)} for {patch.path} ({hunk.header.split(' @@')[0]} @@)"
            raise BadPatch(f"{which} does not apply: {_why(search, hunk, done, expected)}")
        result += lines[done:at]
        result += _replaced(lines[at : at + len(hunk.old)], hunk, text)
        done = at + len(hunk.old)
        shift = at - (hunk.start - 1 if hunk.old else hunk.start)
    result += lines[done:]
    return "".join(_ended(result, text.newline))


class _Search:
    """Finds lines in a text; a patch that was made to take long is given up."""

    def __init__(self, lines: list[str], path: str) -> None:
        self.lines = lines
        self._path = path
        self._left = limits.PATCH_STEPS
        self._compared: dict[Callable[[str], str], list[str]] = {}

    def stands(self, old: Sequence[str], at: int, same: Callable[[str], str]) -> bool:
        """Return whether these lines stand at a place."""
        return self._stands([same(line) for line in old], at, self._by(same))

    def places(self, old: Sequence[str], done: int, same: Callable[[str], str]) -> list[int]:
        """Return every place from one on where these lines stand."""
        wanted, there = [same(line) for line in old], self._by(same)
        self._take(len(there) - done)
        first = [at for at in range(done, len(there) - len(old) + 1) if there[at] == wanted[0]]
        return [at for at in first if self._stands(wanted, at, there)]

    def is_alike(self, old: Sequence[str]) -> bool:
        """Return whether so many of the lines are the same that comparing each with each would take long."""
        often = Counter(map(_but_for_ends, old))
        return sum(often[line] for line in self._by(_but_for_ends)) > limits.PATCH_STEPS

    def _stands(self, wanted: Sequence[str], at: int, there: Sequence[str]) -> bool:
        if at + len(wanted) > len(there):
            return False
        offset = next((offset for offset, line in enumerate(wanted) if there[at + offset] != line), len(wanted))
        self._take(offset + 1)
        return offset == len(wanted)

    def _by(self, same: Callable[[str], str]) -> list[str]:
        if same not in self._compared:
            self._compared[same] = list(map(same, self.lines))
        return self._compared[same]

    def _take(self, steps: int) -> None:
        self._left -= max(steps, 0)
        if self._left < 0:
            raise BadPatch(f"Finding the places of the patch in {self._path} takes too long; give exact line numbers.")


def _found(search: _Search, hunk: Hunk, done: int, expected: int) -> int | None:
    """Return where the old lines stand: where the patch says, or else at the only other place."""
    old = hunk.old
    if not old:
        return min(max(expected, done), len(search.lines))
    for same in (_exactly, _but_for_ends):
        if expected >= done and search.stands(old, expected, same):
            return expected
        places = search.places(old, done, same)
        if places:
            return places[0] if len(places) == 1 else None
    return None


def _exactly(line: str) -> str:
    # A last line without its end, in the file or in the patch, is still the same line.
    return line.removesuffix("\n").removesuffix("\r")


def _but_for_ends(line: str) -> str:
    return line.rstrip()


def _replaced(there: Sequence[str], hunk: Hunk, text: Text) -> list[str]:
    """Return the new lines; those that stay are the file's own, whatever spaces the patch has."""
    result: list[str] = []
    taken = 0
    for sign, line in hunk.lines:
        if sign == "+":
            result.append(text.in_its_lines(line))
        else:
            if sign == " ":
                result.append(there[taken])
            taken += 1
    return result


def _ended(lines: list[str], newline: str) -> list[str]:
    """Give every line but the last its end: one that was the last may not be so any more."""
    return [line if line.endswith("\n") or at == len(lines) - 1 else line + newline for at, line in enumerate(lines)]


def _why(search: _Search, hunk: Hunk, done: int, expected: int) -> str:
    old, lines = hunk.old, search.lines
    several = search.places(old, done, _but_for_ends)
    if len(several) > 1:
        places = ", ".join(str(at + 1) for at in several[:5])
        return f"its lines stand at several places (lines {places}), none of them where it says; fix its line number."
    if not lines:
        return "the file is empty."
    at = min(max(expected, 0), len(lines) - 1) if search.is_alike(old) else _nearest(lines, old, expected)
    for offset, wanted in enumerate(old):
        here = at + offset
        if here >= len(lines):
            return f"the file ends at line {len(lines)}, where the patch expects {_quoted(wanted)}."
        if _but_for_ends(lines[here]) != _but_for_ends(wanted):
            return f"line {here + 1} is {_quoted(lines[here])} where the patch expects {_quoted(wanted)}."
    return "it overlaps the hunk before it."


def _nearest(lines: Sequence[str], old: Sequence[str], expected: int) -> int:
    """Return where the most of the old lines stand in a row, to say what is different there."""
    known = {_but_for_ends(line) for line in old if line.strip()}
    matcher = difflib.SequenceMatcher(
        None,
        [line if line in known else "" for line in map(_but_for_ends, lines)],
        [_but_for_ends(line) for line in old],
        autojunk=False,
    )
    best = matcher.find_longest_match()
    if best.size and any(_but_for_ends(line).strip() for line in old[best.b : best.b + best.size]):
        return max(best.a - best.b, 0)
    return min(max(expected, 0), len(lines) - 1)


def _quoted(line: str) -> str:
    shown = line.removesuffix("\n").removesuffix("\r")
    return repr(shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…")
