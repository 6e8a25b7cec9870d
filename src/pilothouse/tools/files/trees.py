"""Everything below a folder, up to a bound."""

from __future__ import annotations

import os
import stat

import msgspec

from pilothouse.tools.files.places import PathRefused, Place, is_text
from pilothouse.tools.files.walk import Folder, Identity, open_root
from pilothouse.types import limits


class Found(msgspec.Struct, frozen=True):
    """One thing in a tree; `target` is where a link leads."""

    place: Place
    status: os.stat_result
    target: str = ""

    @property
    def is_folder(self) -> bool:
        """Return whether it is a folder."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        """Return whether it is a link."""
        return stat.S_ISLNK(self.status.st_mode)


def below(place: Place, known: Identity | None = None) -> list[Found]:
    """Return everything below a folder, what is in a folder before the folder itself; refuse what is too much."""
    found: list[Found] = []
    with open_root(place, known) as root, root.descend(place.parts) as folder:
        _gather(folder, place, found, len(place.parts))
    return found


def _gather(folder: Folder, place: Place, found: list[Found], depth: int) -> None:
    with folder.scan() as entries:
        names = [entry.name for entry, _number in zip(entries, range(limits.TREE_ENTRIES + 1), strict=False)]
    if len(place.parts) - depth > limits.TREE_DEPTH or len(found) + len(names) > limits.TREE_ENTRIES:
        most = f"{limits.TREE_ENTRIES:,} files and folders, or folders more than {limits.TREE_DEPTH} deep"
        raise PathRefused(f"{place.name} holds more than {most}; use a command for that.", "TOO_LARGE")
    for name in sorted(names):
        if not is_text(name):
            raise PathRefused(f"{place.name} holds a file whose name is no text; use a command for that.")
        status = folder.stat(name)
        if status is None:
            continue
        one = place.below(name)
        if stat.S_ISDIR(status.st_mode):
            with folder.folder(name) as inner:
                _gather(inner, one, found, depth)
        target = os.readlink(name, dir_fd=folder.descriptor) if stat.S_ISLNK(status.st_mode) else ""
        found.append(Found(one, status, target))
