"""What a folder with everything in it, or a large file, is known by without reading it."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import stat

from pilothouse.tools.files.places import Place
from pilothouse.tools.files.walk import Folder, look, parent_of, refusing
from pilothouse.types import limits
from pilothouse.types.changes import TREE

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def stamp(place: Place) -> str:
    """Return what changes whenever something at or below a place does."""
    if look(place) is None:
        return TREE
    with parent_of(place) as folder, refusing(place.path):
        lines = sorted(_lines(folder.descriptor, place.last, 0))
    known = TREE + hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
    # It is kept where the hash of a content is, and has no more room than that.
    return known[: hashlib.sha256().digest_size * 2]


def remove_tree(folder: Folder, name: str) -> None:
    """Delete what is there, with everything in it."""
    found = folder.stat(name)
    with refusing(os.path.join(folder.path, name)):
        if found is not None and stat.S_ISDIR(found.st_mode):
            shutil.rmtree(name, dir_fd=folder.descriptor)
        elif found is not None:
            os.unlink(name, dir_fd=folder.descriptor)


def _lines(folder: int, name: str, depth: int) -> list[str]:
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    lines = [f"{name}\0{found.st_mode} {found.st_size} {found.st_mtime_ns} {found.st_ino}"]
    if depth > limits.TREE_DEPTH or found.st_dev != os.fstat(folder).st_dev:
        return _never_the_same()
    if stat.S_ISDIR(found.st_mode):
        try:
            below = os.open(name, _FOLDER, dir_fd=folder)
        except PermissionError:
            return _never_the_same()
        try:
            for each in os.listdir(below):
                lines += (f"{name}/{line}" for line in _lines(below, each, depth + 1))
        finally:
            os.close(below)
    return lines


def _never_the_same() -> list[str]:
    """Return what stands for a folder that is not looked into: nobody can say that it is as it was."""
    return [secrets.token_hex()]
