"""Putting the hunks of a patch into a text: exactly, or with other spaces at the ends of lines; nothing fuzzier."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from pilothouse.tools.files.contents import Text, lines_of
from pilothouse.tools.files.patches import BadPatch, FilePatch, Hunk

_SHOWN = 120


def patched(text: Text, patch: FilePatch) -> str:
    """Return a text with all hunks of a patch; raise with the first that does not apply, and why."""
    lines = lines_of(text.text)
    result: list[str] = []
    done, shift = 0, 0
    for number, hunk in enumerate(patch.hunks, 1):
        expected = hunk.start - 1 + shift if hunk.old else hunk.start + shift
        at = _found(lines, hunk, done, expected)
        if at is None:
            which = f"Hunk {number} of {len(patch.hunks)} for {patch.path} ({hunk.header.split(' @@')[0]} @@)"
            raise BadPatch(f"{which} does not apply: {_why(lines, hunk, done, expected)}")
        result += lines[done:at]
        result += _replaced(lines[at : at + len(hunk.old)], hunk, text)
        done = at + len(hunk.old)
        shift = at - (hunk.start - 1 if hunk.old else hunk.start)
    result += lines[done:]
    return "".join(_ended(result, text.newline))


def _found(lines: Sequence[str], hunk: Hunk, done: int, expected: int) -> int | None:
    """Return where the old lines stand: where the patch says, or else at the only other place."""
    old = hunk.old
    if not old:
        return min(max(expected, done), len(lines))
    for same in (_exactly, _but_for_ends):
        if expected >= done and _stands(lines, old, expected, same):
            return expected
        first = same(old[0])
        places = [at for at in range(done, len(lines) - len(old) + 1) if same(lines[at]) == first]
        places = [at for at in places if _stands(lines, old, at, same)]
        if places:
            return places[0] if len(places) == 1 else None
    return None


def _stands(lines: Sequence[str], old: Sequence[str], at: int, same: Callable[[str], str]) -> bool:
    there = lines[at : at + len(old)]
    return len(there) == len(old) and all(same(one) == same(two) for one, two in zip(there, old, strict=True))


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


def _why(lines: Sequence[str], hunk: Hunk, done: int, expected: int) -> str:
    old = hunk.old
    several = [at for at in range(done, len(lines)) if _stands(lines, old, at, _but_for_ends)]
    if len(several) > 1:
        places = ", ".join(str(at + 1) for at in several[:5])
        return f"its lines stand at several places (lines {places}), none of them where it says; fix its line number."
    if not lines:
        return "the file is empty."
    at = _nearest(lines, old, expected)
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
