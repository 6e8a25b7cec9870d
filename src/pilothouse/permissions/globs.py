"""Patterns of paths, component by component: `*` and `?` never reach over a slash, `**` stands for whole components."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Sequence
from functools import lru_cache

from pilothouse.types import limits

_WILD = re.compile(r"[*?]")
_ANY = "**"
# No file is called so: only what matches every name matches it.
_NO_NAME = "\0"


class Glob:
    """One compiled pattern, absolute or relative to a working directory.

    Paths it is asked about are split into components: from the working directory, or from the root.
    """

    __slots__ = ("_covering", "_touching", "is_relative", "prefix")

    def __init__(self, text: str) -> None:
        text = os.path.expanduser(text)
        self.is_relative = not text.startswith("/")
        parts = split(text)
        fixed = next((index for index, part in enumerate(parts) if _WILD.search(part)), len(parts))
        # The components before the first wildcard: everything that matches is this or lies below it.
        self.prefix = tuple(parts[:fixed])
        # What is in a folder does not include the folder itself.
        self._covering = _steps([*parts[:-1], "*", _ANY] if parts[-1:] == [_ANY] else parts)
        self._touching = _steps(parts if parts[-1:] == [_ANY] else [*parts, _ANY])

    def covers(self, path: Sequence[str]) -> bool:
        """Return whether a path matches."""
        return _leads(self._covering, path)

    def concerns(self, path: Sequence[str]) -> bool:
        """Return whether a path matches, is the folder whose content matches, or lies below what matches."""
        return _leads(self._touching, path)

    def is_in(self, path: Sequence[str]) -> bool:
        """Return whether what matches lies in this folder, so that moving the folder would move it too."""
        return self.prefix[: len(path)] == tuple(path)

    def may_be_below(self, path: Sequence[str]) -> bool:
        """Return whether something below a folder could match, whatever is in it."""
        return bool(_after(self._touching, path))

    def covers_all_below(self, path: Sequence[str]) -> bool:
        """Return whether whatever could be in a folder matches, however deep it lies."""
        return all(self.covers((*path, *[_NO_NAME] * depth)) for depth in (1, limits.TREE_DEPTH))


_Step = re.Pattern[str] | None


def _steps(parts: Sequence[str]) -> tuple[_Step, ...]:
    # Brackets mean themselves: a file may well be called `[id].tsx`.
    return tuple(None if part == _ANY else re.compile(fnmatch.translate(part.replace("[", "[[]"))) for part in parts)


def _leads(steps: tuple[_Step, ...], path: Sequence[str]) -> bool:
    return len(steps) in _after(steps, path)


def _after(steps: tuple[_Step, ...], path: Sequence[str]) -> set[int]:
    """Walk along all ways at once, so that no pattern takes longer than its length times the path's."""
    here = _with_skips(steps, {0})
    for name in path:
        following = set()
        for at in here:
            if at == len(steps):
                continue
            step = steps[at]
            if step is None:
                following.add(at)
            elif step.match(name):
                following.add(at + 1)
        here = _with_skips(steps, following)
        if not here:
            break
    return here


def _with_skips(steps: tuple[_Step, ...], places: set[int]) -> set[int]:
    found = set(places)
    for place in places:
        at = place
        while at < len(steps) and steps[at] is None:
            at += 1
            found.add(at)
    return found


def split(path: str) -> list[str]:
    """Return the components of a path."""
    return [part for part in path.split("/") if part not in ("", ".")]


@lru_cache(maxsize=65_536)
def glob(text: str) -> Glob:
    """Return the compiled pattern."""
    return Glob(text)
