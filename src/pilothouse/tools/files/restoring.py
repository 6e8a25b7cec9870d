"""Putting back what one change did to one file, if nobody touched it since."""

from __future__ import annotations

import os
import stat

from pilothouse.tools.files import atomic
from pilothouse.tools.files.contents import as_text, is_binary, read_whole
from pilothouse.tools.files.diffs import diff
from pilothouse.tools.files.places import PathRefused, Place, components
from pilothouse.tools.files.walk import Folder, look, open_root, parent_of, refusing
from pilothouse.types.changes import FOLDER, FileChange, KeptChange


class Conflict(PathRefused):
    """Someone changed the file since; it is left alone."""

    def __init__(self, message: str, current: bytes | None = None) -> None:
        super().__init__(message, "CONFLICT")
        self.current = current


def put_back(kept: KeptChange) -> None:
    """Make a file what it was before a change; raise a Conflict when it is not what the change left."""
    change, place = kept.change, at(kept.change.path)
    if change.moved_from:
        _move_back(change, place)
    elif FOLDER in (change.before, change.after):
        _folder_back(change, place)
    elif change.mode is not None and stat.S_ISLNK(change.mode):
        _link_back(kept, place)
    else:
        _content_back(kept, place)


def at(path: str) -> Place:
    """Return the place of a path that was free of links when it was kept."""
    return Place("/", components(path), False)


def difference(kept: KeptChange, now: bytes) -> str:
    """Return what putting a file back would change, the other way round; empty for what is not text."""
    place = at(kept.change.path)
    if is_binary(now) or is_binary(kept.content or b""):
        return ""
    before = None if kept.content is None else as_text(kept.content, place).text
    return diff(before, as_text(now, place).text, place.path, place.path).text


def _content_back(kept: KeptChange, place: Place) -> None:
    change = kept.change
    found = look(place)
    if found is None:
        if change.after is None and kept.content is not None:
            folder = _parents(place)
            with folder:
                atomic.write_new(folder, place.last, kept.content, stat.S_IMODE(change.mode or atomic.usual_mode()))
        elif change.before is not None:
            raise Conflict(f"{place.path} was deleted since.")
        return
    with parent_of(place) as folder:
        now = read_whole(folder, place.last, place.path)
        if now.digest == change.before:
            return
        if now.digest != change.after:
            raise Conflict(f"{place.path} was changed since.", now.content)
        if kept.content is None:
            atomic.remove(folder, place.last, now)
        else:
            atomic.write_over(folder, place.last, kept.content, now)


def _parents(place: Place) -> Folder:
    with open_root(place) as root:
        return root.make(place.parts[:-1])[0]


def _folder_back(change: FileChange, place: Place) -> None:
    found = look(place)
    if change.after == FOLDER and found is not None:
        with parent_of(place) as folder:
            try:
                os.rmdir(place.last, dir_fd=folder.descriptor)
            except OSError:
                raise Conflict(f"{place.path} is not empty any more.") from None
    elif change.before == FOLDER and found is None:
        with open_root(place) as root:
            made, _paths = root.make(place.parts)
        with made, refusing(place.path), made.listable() as descriptor:
            os.fchmod(descriptor, stat.S_IMODE(change.mode or 0o755))


def _link_back(kept: KeptChange, place: Place) -> None:
    if look(place) is not None:
        raise Conflict(f"{place.path} is there again.")
    folder = _parents(place)
    with folder, refusing(place.path):
        os.symlink(os.fsdecode(kept.content or b""), place.last, dir_fd=folder.descriptor)


def _move_back(change: FileChange, place: Place) -> None:
    origin, found = at(change.moved_from), look(place)
    if found is None:
        if look(origin) is None:
            raise Conflict(f"{place.path} was moved or deleted since.")
        return
    if change.after != FOLDER:
        with parent_of(place) as folder:
            now = read_whole(folder, place.last, place.path)
        if now.digest != change.after:
            raise Conflict(f"{place.path} was changed since.", now.content)
    if look(origin) is not None:
        raise Conflict(f"There is something else at {origin.path} now.")
    old = _parents(origin)
    with old, parent_of(place) as new:
        atomic.move(new, place.last, old, origin.last)
