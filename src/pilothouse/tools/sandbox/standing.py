"""What of a project a command may not change: whatever makes other programs run something by themselves."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

import msgspec

from pilothouse.types import self_starting

_PLACES = (*self_starting.GIT, *self_starting.BUILD_SERVERS, *self_starting.EDITORS, *self_starting.AGENTS)


class Standing(msgspec.Struct, frozen=True):
    """How those places are kept, and what they were when that was decided."""

    # For `bwrap`.
    arguments: tuple[str, ...]
    # Relative to the folder; none has a space in it.
    names: tuple[str, ...]
    # Device and inode of each, as `stat` says them: something else may stand there by the time it is mounted.
    facts: str


def standing(folder: str) -> Standing:
    """Return how to keep what is there of those places in a folder.

    A folder above such a place is mounted onto itself: nobody can move aside what is mounted.
    """
    above: dict[str, os.stat_result] = {}
    kept: dict[str, os.stat_result] = {}
    there = _names(folder)
    for place in (*self_starting.WITHIN_GIT, *_PLACES):
        first, _, rest = place.partition("/")
        name = "/".join(filter(None, (there.get(first), rest))) if first in there else ""
        found = {part: facts for part in _with_parents(name) if (facts := _facts(folder, part)) is not None}
        if name in found and len(found) == len(_with_parents(name)):
            kept[name] = found.pop(name)
            above |= {there[first]: found[there[first]]} if rest else {}
    arguments = [*_mounts("--bind", folder, above), *_mounts("--ro-bind", folder, kept)]
    every = above | kept
    told = "\n".join(f"{found.st_dev}:{found.st_ino} {name}" for name, found in every.items())
    return Standing(tuple(arguments), tuple(every), told)


def _mounts(how: str, folder: str, names: dict[str, os.stat_result]) -> Iterator[str]:
    for name in names:
        path = os.path.join(folder, name)
        yield from (how, path, path)


def _names(folder: str) -> dict[str, str]:
    """Return what is in the folder by its name in lower case: some disks do not tell these apart."""
    try:
        return {name.lower(): name for name in os.listdir(folder)}
    except OSError:
        return {}


def _with_parents(name: str) -> list[str]:
    parts = name.split("/") if name else []
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _facts(folder: str, name: str) -> os.stat_result | None:
    """Return what is known of a file or a folder; links and what cannot be mounted are left out."""
    try:
        found = os.lstat(os.path.join(folder, name))
    except OSError:
        return None
    return found if stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode) else None
