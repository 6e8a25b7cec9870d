"""Putting files back as they were: newest change first, and only what nobody touched since."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Sequence

from pilothouse.tools.files import atomic
from pilothouse.tools.files.contents import as_text, digest, is_binary, read_whole
from pilothouse.tools.files.diffs import diff
from pilothouse.tools.files.places import PathRefused, Place, components
from pilothouse.tools.files.stamps import remove_tree, stamp
from pilothouse.tools.files.walk import Folder, look, open_root, parent_of, refusing
from pilothouse.types.changes import FOLDER, TREE, FileChange, KeptChange, UndoConflict, UndoReport

_GIT = ".git"


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
    elif (change.after or "").startswith(TREE):
        _tree_away(change, place)
    elif change.before is not None and change.before == change.after:
        _mode_back(change, place)
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
        if stat.S_ISLNK(found.st_mode):
            _link_away(change, place, folder)
            return
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
    elif change.before == FOLDER:
        # What was in it may be back already, and the folder with it.
        with open_root(place) as root:
            made, _paths = root.make(place.parts)
        with made, refusing(place.path), made.listable() as descriptor:
            os.fchmod(descriptor, stat.S_IMODE(change.mode or 0o755))


def _link_back(kept: KeptChange, place: Place) -> None:
    target = os.fsdecode(kept.content or b"")
    found = look(place)
    if found is not None:
        with parent_of(place) as folder, refusing(place.path):
            if stat.S_ISLNK(found.st_mode) and os.readlink(place.last, dir_fd=folder.descriptor) == target:
                return
        raise Conflict(f"{place.path} is there again.")
    with _parents(place) as folder, refusing(place.path):
        os.symlink(target, place.last, dir_fd=folder.descriptor)


def _link_away(change: FileChange, place: Place, folder: Folder) -> None:
    """Remove a link that was made; what it leads to stays."""
    target = os.fsencode(os.readlink(place.last, dir_fd=folder.descriptor))
    if change.before is not None or digest(target) != change.after:
        raise Conflict(f"{place.path} was changed since.")
    with refusing(place.path):
        os.unlink(place.last, dir_fd=folder.descriptor)


def _tree_away(change: FileChange, place: Place) -> None:
    if look(place) is None:
        return
    if stamp(place) != change.after:
        raise Conflict(f"{place.path} was changed since.")
    with parent_of(place) as folder:
        remove_tree(folder, place.last)


def _mode_back(change: FileChange, place: Place) -> None:
    """Give back the rights that something had, if it is the same thing still."""
    found, wanted = look(place), change.mode or 0
    if found is None or stat.S_IFMT(found.st_mode) != stat.S_IFMT(wanted):
        raise Conflict(f"{place.path} was changed since.")
    with parent_of(place) as folder, refusing(place.path):
        atomic.change_mode(folder, place.last, found, stat.S_IMODE(wanted))


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


async def undo(changes: Sequence[KeptChange]) -> tuple[UndoReport, tuple[str, ...]]:
    """Put back what nobody changed since, newest change first; return also the ids of what was put back."""
    work = asyncio.ensure_future(asyncio.to_thread(_undo, changes))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        # What is being put back is put back as a whole.
        await asyncio.wait([work])
        raise


def _undo(changes: Sequence[KeptChange]) -> tuple[UndoReport, tuple[str, ...]]:
    undone: list[str] = []
    paths: dict[str, None] = {}
    conflicts: list[UndoConflict] = []
    stay: set[str] = set()
    for git in _repositories_at_work(changes):
        conflicts.append(UndoConflict(path=git, why=f"{git} was changed since."))
        stay |= {each.change.path for each in changes if _repository(each.change.path) == git}
    for kept in reversed(changes):
        change = kept.change
        # What came before a change that stays cannot be put back over it.
        if change.path in stay:
            stay.add(change.moved_from)
            continue
        try:
            put_back(kept)
        except (PathRefused, OSError) as error:
            conflicts.append(_told(kept, error))
            stay |= {change.path, change.moved_from}
        else:
            undone.append(change.id)
            if FOLDER not in (change.before, change.after) or change.moved_from:
                paths[change.path] = None
    return UndoReport(undone=tuple(paths), conflicts=tuple(conflicts)), tuple(undone)


def _repositories_at_work(changes: Sequence[KeptChange]) -> list[str]:
    """Return git's own folders in which something else happened since: half of them put back would be a ruin.

    What is prepared for the next commit is told apart: git writes it also when someone only asks for the state.
    """
    newest = {each.change.path: each.change for each in changes if _repository(each.change.path)}
    prepared = (path for path in newest if path == os.path.join(_repository(path), "index"))
    for path in list(prepared):
        del newest[path]
    return list(dict.fromkeys(_repository(path) for path, change in newest.items() if not _is_as_left(change)))


def _repository(path: str) -> str:
    before, git, _after = f"{path}/".partition(f"/{_GIT}/")
    return f"{before}/{_GIT}" if git else ""


def _is_as_left(change: FileChange) -> bool:
    """Return whether a file is as a change left it, or was put back already."""
    place = at(change.path)
    try:
        found = look(place)
        if found is None:
            return None in (change.before, change.after) or bool(change.moved_from)
        if stat.S_ISDIR(found.st_mode):
            tree = (change.after or "").startswith(TREE)
            return stamp(place) == change.after if tree else FOLDER in (change.before, change.after)
        with parent_of(place) as folder:
            if stat.S_ISLNK(found.st_mode):
                now = digest(os.fsencode(os.readlink(place.last, dir_fd=folder.descriptor)))
            else:
                now = read_whole(folder, place.last, place.path).digest
    except (PathRefused, OSError):
        # What stands in the way is told when it is put back.
        return True
    return now in (change.before, change.after)


def _told(kept: KeptChange, error: PathRefused | OSError) -> UndoConflict:
    now = error.current if isinstance(error, Conflict) else None
    shown = difference(kept, now) if now is not None else ""
    return UndoConflict(path=kept.change.path, why=str(error), diff=shown)
