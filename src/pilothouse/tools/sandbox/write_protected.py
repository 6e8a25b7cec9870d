"""What of its folder a command may not change: whatever makes other programs run something by themselves."""

from __future__ import annotations

import fnmatch
import os
import stat
import sys
from collections.abc import Collection, Iterator
from itertools import islice

import msgspec

from pilothouse.tools.sandbox.hidden import places_there
from pilothouse.tools.sandbox.repositories import git_folders, module_folders
from pilothouse.types import limits
from pilothouse.types.guarded_places import ANYWHERE, FILES, WITHIN_GIT

# In a second working tree git's folder is a file that says where it is.
_PLACES = (*WITHIN_GIT, *(place.path for place in ANYWHERE if place.kind == "starts"))
_FILES = tuple(place.path for place in FILES if place.kind == "starts")


class WriteProtected(msgspec.Struct, frozen=True):
    """How those places are kept, and what they were when that was decided."""

    # For `bwrap`.
    arguments: tuple[str, ...]
    # Relative to the folder; none has a line break in it.
    names: tuple[str, ...]
    # Device and inode of each, as `stat` says them: something else may stand there by the time it is mounted.
    facts: str


def write_protected(folder: str, hidden: Collection[str] = ()) -> WriteProtected:
    """Return how to keep what is there of those places in a folder; what is hidden needs no keeping.

    A folder above such a place is mounted onto itself: nobody can move aside what is mounted.
    """
    above: dict[str, os.stat_result] = {}
    kept: dict[str, os.stat_result] = {}
    for name in (*_of_project(folder), *_of_git(folder), *_of_home(folder), *_of_ours(folder)):
        found = {part: facts for part in _with_parents(name) if (facts := _facts(folder, part)) is not None}
        if os.path.join(folder, name) in hidden or name not in found or _is_gits_own(name, found[name]):
            continue
        if len(found) == len(_with_parents(name)):
            kept[name] = found.pop(name)
            above |= found
    arguments = [*_mounts("--bind", folder, above), *_mounts("--ro-bind", folder, kept)]
    every = above | kept
    told = "\n".join(f"{found.st_dev}:{found.st_ino} {name}" for name, found in every.items())
    return WriteProtected(tuple(arguments), tuple(every), told)


def _of_project(folder: str) -> Iterator[str]:
    there = _names(folder)
    for place in _PLACES:
        first, *rest = place.split("/")
        if first in there:
            yield from _where(folder, os.path.join(folder, there[first], *rest))
    fitting = (name for pattern in _FILES for name in fnmatch.filter(there, pattern))
    for name in islice(fitting, limits.KEPT_NAMES):
        yield from _where(folder, os.path.join(folder, there[name]))


def _of_git(folder: str) -> Iterator[str]:
    """Yield the same of git's own folder wherever it is in the project, and the hooks of submodules.

    Not the settings of those: `git submodule update` writes them.
    """
    for git in git_folders(folder):
        for place in WITHIN_GIT:
            yield from _where(folder, os.path.join(git, place.removeprefix(".git/")))
    for git in module_folders(folder):
        yield from _where(folder, os.path.join(git, "hooks"))


def _of_home(folder: str) -> Iterator[str]:
    """Yield the places of the person's home folder, when they lie in the folder."""
    for path in places_there(os.path.realpath(os.path.expanduser("~")), os.environ, "starts"):
        yield from _where(folder, path)


def _where(folder: str, path: str) -> Iterator[str]:
    """Yield the way to a place, or to where a link in its place leads, if that lies in the folder."""
    if os.path.lexists(path):
        way = os.path.relpath(os.path.realpath(path), folder)
        if way != "." and way.split("/")[0] != ".." and "\n" not in way:
            yield way


def _of_ours(folder: str) -> Iterator[str]:
    """Yield where this very program is installed, when that is in the folder: it is not held the next time."""
    yield from _where(folder, sys.prefix)


def _is_gits_own(name: str, found: os.stat_result) -> bool:
    """Return whether it is the folder that git writes to with every commit."""
    return name.lower() == ".git" and stat.S_ISDIR(found.st_mode)


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
