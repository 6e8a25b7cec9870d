"""What of a project a command may not change: whatever makes other programs run something by themselves."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pilothouse.types import self_starting

_PLACES = (*self_starting.GIT, *self_starting.BUILD_SERVERS, *self_starting.EDITORS, *self_starting.AGENTS)


def standing(folder: str) -> list[str]:
    """Return the arguments of `bwrap` that keep those places of a folder as they are, as far as they are there.

    A folder above such a place is mounted onto itself: nobody can move aside what is mounted.
    """
    there = _names(folder)
    held: dict[str, None] = {}
    kept: list[str] = []
    for place in (*self_starting.WITHIN_GIT, *_PLACES):
        first, _, rest = place.partition("/")
        real = there.get(first)
        path = _real(folder, real, rest) if real is not None else None
        if path is not None:
            if rest:
                held[str(Path(folder, real or first))] = None
            kept.append(path)
    above = [part for path in held for part in ("--bind", path, path)]
    return [*above, *(part for path in kept for part in ("--ro-bind", path, path))]


def _names(folder: str) -> dict[str, str]:
    """Return what is in the folder by its name in lower case: some disks do not tell these apart."""
    try:
        return {name.lower(): name for name in os.listdir(folder)}
    except OSError:
        return {}


def _real(folder: str, first: str, rest: str) -> str | None:
    """Return a file or folder that is really there; links and what cannot be mounted are left out."""
    path = os.path.join(folder, first, *filter(None, rest.split("/")))
    try:
        kind = os.lstat(path).st_mode
    except OSError:
        return None
    if rest and stat.S_ISLNK(os.lstat(os.path.join(folder, first)).st_mode):
        return None
    return path if stat.S_ISDIR(kind) or stat.S_ISREG(kind) else None
