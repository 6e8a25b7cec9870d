"""Which contents of a large folder are kept: what commands made comes last, what git does not ignore comes first.

Among these the small come before the large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from threading import Event

from pilothouse.tools.files.contents import amount
from pilothouse.tools.search.tree import Walk, Wanted
from pilothouse.types import limits

_NAMED = 5
_NAME_CHARS = 80


def worth_most(top: int, sizes: Mapping[str, int], made: Set[str]) -> set[str]:
    """Return the files of an open folder whose contents are kept, within the bound."""
    walk = Walk(Wanted(stop=Event(), hidden=True))
    own = {level.prefix + name for level in walk.levels(top) for name in level.files}
    chosen: set[str] = set()
    room = limits.SNAPSHOT_BYTES
    for path in sorted(sizes, key=lambda path: (path in made, path not in own, sizes[path])):
        if sizes[path] <= min(room, limits.FILE_EDIT_BYTES):
            room -= sizes[path]
            chosen.add(path)
    return chosen


def by_name(left_out: Mapping[str, int]) -> dict[str, int]:
    """Return what is not kept with its size: whole folders where several files in them are not."""
    tops: dict[str, list[str]] = {}
    for path in left_out:
        tops.setdefault(path.partition("/")[0], []).append(path)
    sizes: dict[str, int] = {}
    for top, paths in tops.items():
        sizes[paths[0] if len(paths) == 1 else f"{top}/"] = sum(left_out[path] for path in paths)
    return sizes


def named(sizes: Mapping[str, int]) -> str:
    """Return that in a few words, the largest first."""
    return _said([f"{name} ({amount(sizes[name])})" for name in sorted(sizes, key=lambda name: -sizes[name])])


def by_reason(reasons: Mapping[str, str]) -> str:
    """Return what nobody looks into in a few words, each with its reason."""
    return _said([f"{_shortened(name)} ({reasons[name]})" for name in sorted(reasons)])


def _said(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _shortened(name: str) -> str:
    """Return a name that fits into a sentence."""
    return name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}…"
