"""What a command sees in the places that are emptied for it: what a person named, with all that belongs to it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

import msgspec

from pilothouse.tools.sandbox.hidden import EMPTIED, open_below
from pilothouse.types import limits
from pilothouse.types.guarded_places import is_in, outermost

# What stands at the top of a project or an installation: a program of it seldom works without the rest.
_TOPS = (".git", "package.json", "node_modules", "pyproject.toml", "pyvenv.cfg", "Cargo.toml", "go.mod")
# Beside these are the libraries of the programs in them.
_PROGRAMS = ("bin", "sbin")
_LINKS = 16


class Shown(msgspec.Struct, frozen=True):
    """A file or a folder that a command sees, for reading."""

    # Under which name, and where it really is; nothing that is hidden lies in it.
    path: str
    source: str


class View(msgspec.Struct, frozen=True):
    """What of the machine a command sees, beside its folder and what all programs need."""

    # Not to be seen anywhere, links resolved.
    hidden: tuple[str, ...]
    # To be seen although it lies in an emptied place.
    shown: tuple[Shown, ...] = ()
    # Where services of this machine listen, which no command reaches.
    sockets: tuple[str, ...] = ()
    # A folder of ours in a hidden place that it may look into; empty for none.
    installed: str = ""


class Named(msgspec.Struct, frozen=True):
    """What was named by a person: in a setting, in a consent, by how this program was started."""

    # Files, or folders that programs are looked for in; each comes with the project or installation that it is part of.
    programs: tuple[str, ...] = ()
    # Folders, each just itself, and files, each with its project if it has one.
    places: tuple[str, ...] = ()


def shown_places(named: Named, folder: str, closed: Sequence[str]) -> tuple[Shown, ...]:
    """Return what a command in a folder sees of emptied places beside that folder.

    The folder's own project is part of it. Nothing that is closed to it comes along. What lies in the folder is not
    looked at: a command could have put a link there.
    """
    wanted = {_with_its_own(step) for path in (folder, *named.programs) for step in _steps(path, folder)}
    for step in (step for path in named.places for step in _steps(path, folder)):
        wanted.add(step if os.path.isdir(step) else _project(step) or step)
    found: list[Shown] = []
    for path in outermost(filter(None, wanted)):
        source = os.path.realpath(path)
        found += (Shown(path + part[len(source) :], part) for part in open_below(source, closed))
    return tuple(each for each in found if not is_in(each.path, folder))[: limits.SHOWN_PLACES]


def _steps(path: str, folder: str) -> Iterator[str]:
    """Yield where a path leads, link by link, as far as that is in an emptied place."""
    for _ in range(_LINKS):
        inside = is_in(path, folder) and path != folder
        if inside or not os.path.isabs(path) or not os.path.exists(path):
            return
        if (step := _emptied(path)) is not None:
            yield step
        if not os.path.islink(path):
            break
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    if (step := _emptied(os.path.realpath(path))) is not None:
        yield step


def _emptied(path: str) -> str | None:
    """Return a path in an emptied place, whose own name may be a link; None for any other, or for all of one."""
    whole = os.path.normpath(path)
    for place in EMPTIED:
        if is_in(whole, place) and whole != place:
            return os.path.realpath(place) + whole[len(place) :]
    return None


def _with_its_own(path: str) -> str:
    """Return the project or installation that a program is part of, else its folder; nothing in one that all share."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    above = list(_ours(folder))
    if not above:
        return "" if os.path.isdir(path) else path
    beside = above[1] if os.path.basename(folder) in _PROGRAMS and len(above) > 1 else folder
    return _project(path) or beside


def _project(path: str) -> str:
    """Return the outermost project that something lies in; nothing when there is none."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    tops = (place for place in _ours(folder) if any(os.path.lexists(os.path.join(place, name)) for name in _TOPS))
    return min(tops, key=len, default="")


def _ours(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, up to the first that everybody may write to."""
    while folder not in EMPTIED and folder != "/":
        try:
            if os.stat(folder).st_mode & stat.S_IWOTH:
                return
        except OSError:
            return
        yield folder
        folder = os.path.dirname(folder)
