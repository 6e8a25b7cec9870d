"""What two looks at a folder tell about a command, in the words of changes that can be undone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from pilothouse.tools.files.contents import Snapshot
from pilothouse.tools.files.places import Place
from pilothouse.tools.files.shown_changes import shown_changes
from pilothouse.tools.files.stamps import stamp
from pilothouse.tools.files.steps import (
    Change,
    ChangeMode,
    MakeFolder,
    MakeLink,
    MakeTree,
    Move,
    RemoveFile,
    RemoveFolder,
    RemoveLink,
    WriteFile,
)
from pilothouse.tools.snapshots.births import born
from pilothouse.tools.snapshots.entries import Entry
from pilothouse.tools.snapshots.mirror import Difference, Mirror
from pilothouse.types import limits
from pilothouse.types.json import JsonObject

_GIT, _OBJECTS = ".git", "objects"
# A folder that has these is a repository to git, whatever it is called.
_REPOSITORY = ("HEAD", "objects", "refs")


class _At(NamedTuple):
    path: str
    entry: Entry


class _Inside:
    """What is in each of some folders, all the way down."""

    def __init__(self) -> None:
        self._found: dict[str, list[_At]] = {}

    def add(self, path: str, entry: Entry) -> None:
        for above in _above(path):
            self._found.setdefault(above, []).append(_At(path, entry))

    def __getitem__(self, path: str) -> Sequence[_At]:
        return self._found.get(path, ())

    def is_same(self, path: str, other: _Inside, other_path: str) -> bool:
        """Return whether two folders have the very same things in them under the same names."""
        return self._facts(path) == other._facts(other_path)

    def _facts(self, path: str) -> dict[str, tuple[int, ...]]:
        return {each.path[len(path) :]: each.entry.facts for each in self[path]}


class Told(NamedTuple):
    """What a command did, so that going back through it undoes it; what is not kept is left out."""

    steps: list[Change]
    # What is here now and was elsewhere before, or may have been: undo leaves it alone.
    stays: list[str]


def changes_of(found: Sequence[Difference], mirror: Mirror, *, held: bool = True) -> Told:
    """Return what came of a command that could reach nothing but the folder, or anything.

    What goes comes first, from the inside out; then what comes, from the outside in.
    """
    taken = _Taken(mirror, found, held)
    new = list(taken.new(found))
    taken.find_moved(found, new)
    steps = [step for each in reversed(found) for step in taken.gone(each)]
    steps += [step for each in found for step in taken.changed(each)]
    steps += [step for each in new for step in taken.come(each)]
    return Told(steps, taken.stays)


def whole_change(path: str, before: Entry | None, after: Entry, mirror: Mirror) -> Change:
    """Return what happened to one file or link, in one step."""
    each = Difference(path, before, after)
    taken = _Taken(mirror, [each], held=True)
    every = [*taken.changed(each)] or [*taken.come(_At(path, after))]
    return next((step for step in every if isinstance(step, WriteFile)), every[-1])


class _Taken:
    def __init__(self, mirror: Mirror, found: Sequence[Difference], held: bool) -> None:
        self._mirror = mirror
        self._origins = Origins(mirror, found, held)
        self.stays: list[str] = []
        # Where what was moved comes from, by where it is, and all of these; and new folders that count as one.
        self._from: dict[str, str] = {}
        self._away: set[str] = set()
        self._whole: set[str] = set()
        # Files that are not where they were, and of which no content is kept.
        self._only = {
            before.inode: before
            for _, before, after in found
            if before is not None and before.is_file and before.at < 0
            if after is None or after.inode != before.inode
        }
        self._new = {path for path, before, _ in found if before is None}
        # Folders that are gone, by their inodes; and what came and went in each folder, all the way down.
        folders = ((path, before) for path, before, after in found if before and before.is_folder and not after)
        self._gone = {before.inode: path for path, before in folders}
        self._came_in, self._went_from = _Inside(), _Inside()
        for path, before, after in found:
            if before is None and after is not None:
                self._came_in.add(path, after)
            elif after is None and before is not None:
                self._went_from.add(path, before)

    def _place(self, path: str) -> Place:
        return Place(self._mirror.folder, tuple(path.split("/")), True)

    def _snapshot(self, entry: Entry) -> Snapshot:
        content = self._mirror.content(entry)
        return Snapshot(content, entry.mode & 0o7777, (0, entry.inode), entry.size, entry.changed, (-1, -1))

    def gone(self, each: Difference) -> Iterator[Change]:
        """Yield what is not there any more, or is something else now."""
        path, before, after = each
        if before is None or (after is not None and _goes_on(before, after) and not before.is_link):
            return
        if path in self._away or not self._away.isdisjoint(_above(path)):
            return
        place = self._place(path)
        if before.is_folder:
            yield RemoveFolder(place, before.mode & 0o7777)
        elif before.at >= 0 and before.is_link:
            yield RemoveLink(place, os.fsdecode(self._mirror.content(before)))
        elif before.at >= 0:
            yield RemoveFile(place, self._snapshot(before))

    def changed(self, each: Difference) -> Iterator[Change]:
        """Yield what is the same thing with another content or other rights."""
        path, before, after = each
        if before is None or after is None or not _goes_on(before, after) or not (before.is_file or before.is_folder):
            return
        place, content = self._place(path), b""
        if before.is_file:
            if before.at < 0:
                return
            snapshot, content = self._snapshot(before), self._mirror.content(after)
            if snapshot.content != content:
                yield WriteFile(place, snapshot, content)
        if before.mode != after.mode:
            yield ChangeMode(place, before.mode, after.mode, None if before.is_folder else content)

    def new(self, found: Iterable[Difference]) -> Iterator[_At]:
        """Yield what was not there, or was something else; without what is in a folder that counts as one."""
        whole = ""
        for path, before, after in found:
            if after is None or (before is not None and _goes_on(before, after) and not after.is_link):
                continue
            if (whole and path.startswith(whole)) or _is_gits_object(path):
                continue
            stays = self._origins.is_foreign(path, after)
            if after.is_folder and (stays or self._is_moved(path, after) or self._is_whole(path)):
                whole = f"{path}/"
            if stays:
                self.stays.append(path)
            else:
                yield _At(path, after)

    def _is_moved(self, path: str, after: Entry) -> bool:
        """Return whether a folder has only another name now, and everything in it is as it was."""
        source = self._gone.get(after.inode)
        if source is None or not self._went_from.is_same(source, self._came_in, path):
            return False
        self._from[path] = source
        self._away.add(source)
        return True

    def _is_whole(self, path: str) -> bool:
        """Return whether a new folder is undone as a whole or not at all: a large one, and git's own."""
        below = self._came_in[path]
        counts_as_one = (
            len(below) > limits.NEW_FOLDER_ENTRIES
            or {f"{path}/{name}" for name in _REPOSITORY} <= self._new
            or any(entry.at < 0 and not entry.is_folder for _, entry in below)
            or any(each.startswith(f"{path}/") for each in self._mirror.unseen)
        )
        if counts_as_one and self._is_all_new(path, below):
            self._whole.add(path)
        return path in self._whole

    def _is_all_new(self, path: str, below: Sequence[_At]) -> bool:
        """Return whether undo may delete all of a folder: nothing in it was there under another name."""
        return not (
            any(each.startswith(f"{path}/") for each in self._mirror.unnamed)
            or any(entry.inode in self._only or self._origins.is_brought(each, entry) for each, entry in below)
        )

    def find_moved(self, found: Sequence[Difference], new: Sequence[_At]) -> None:
        """Find out which files only have another name now."""
        gone: dict[int, _At] = {}
        replaced = {each.path for each in found if each.before and each.before.is_folder and each.after}
        for path, before, after in found:
            if before is None or not before.is_file or not replaced.isdisjoint(_above(path)):
                continue
            if after is None or before.inode in self._only:
                gone[before.inode] = _At(path, before)
        for path, after in new:
            if after.is_file and after.inode in gone:
                source, before = gone[after.inode]
                if self._is_same(path, before, after):
                    self._from[path] = source
                    self._away.add(source)
                    del gone[after.inode]

    def _is_same(self, path: str, before: Entry, after: Entry) -> bool:
        if min(before.at, after.at) < 0:
            # The only copy is moved back whatever was done to it.
            return before.at < 0 and self._origins.is_moved(path, before, after)
        same = (before.mode, before.size) == (after.mode, after.size)
        return same and self._mirror.content(before) == self._mirror.content(after)

    def come(self, each: _At) -> Iterator[Change]:
        """Yield what is new: in one step where it is a large folder, or a file of which nothing is kept."""
        path, after = each
        place = self._place(path)
        if path in self._from:
            yield Move(self._place(self._from[path]), place, self._snapshot(after) if after.at >= 0 else None)
        elif after.at >= 0:
            content = self._mirror.content(after)
            yield MakeLink(place, os.fsdecode(content)) if after.is_link else WriteFile(place, None, content)
        elif not after.is_folder or path in self._whole:
            yield MakeTree(place, stamp(place), after.is_folder)
        else:
            yield MakeFolder(place)


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _goes_on(before: Entry, after: Entry) -> bool:
    """Return whether it is the same thing still; a file that is too large now is another one."""
    return before.mode >> 12 == after.mode >> 12 and not (before.is_file and before.at >= 0 > after.at)


def _is_gits_object(path: str) -> bool:
    """Return whether it is part of what git keeps: another commit may rest on it by the time it would be undone."""
    parts = path.split("/")
    return _GIT in parts and _OBJECTS in parts[parts.index(_GIT) :]


def told(steps: Sequence[Change], ids: Sequence[str]) -> JsonObject:
    """Return the changes that a card draws; git's own files are one."""
    own = [number for number, step in enumerate(steps) if _GIT in step.place.parts]
    others = [number for number, step in enumerate(steps) if _GIT not in step.place.parts]
    shown = shown_changes([steps[each] for each in others], [ids[each] for each in others])
    if own:
        git = {"path": f"{_GIT}/", "kind": "modified", "diff": "", "added": 0, "removed": 0, "changeId": ids[own[-1]]}
        shown["changes"].append(git)
    return shown if shown["changes"] else {}


class Origins:
    """Tells what a command made from what it, or someone else, brought in."""

    def __init__(self, mirror: Mirror, found: Sequence[Difference], held: bool) -> None:
        self._mirror = mirror
        self._found = found
        # Whether it could take something from where nobody looked, to another file system: that is a new file, as old
        # as the one it was.
        self._in_doubt = not held or mirror.is_blind
        # Files that have, or had, a name which cannot be written down.
        self._unnamed = frozenset(mirror.unnamed.values())

    @cached_property
    def _known(self) -> set[int]:
        """Return which files and folders there were before."""
        before = {each.before.inode for each in self._found if each.before is not None}
        return before | self._mirror.inodes(without={each.path for each in self._found})

    def is_old(self, path: str) -> bool | None:
        """Return whether something was there before the command, here or elsewhere; None where nobody knows."""
        when = born(os.path.join(self._mirror.folder, path))
        return None if when is None else when < self._mirror.since

    def is_foreign(self, path: str, after: Entry) -> bool:
        """Return whether something new in the folder was elsewhere before, or may have been."""
        return self.is_brought(path, after) or (self._in_doubt and self._changed(path, after) < self._mirror.since)

    def is_brought(self, path: str, after: Entry) -> bool:
        """Return whether it was moved here from where nobody looked."""
        is_old = self.is_old(path)
        if after.inode in self._unnamed:
            return is_old is not False
        return bool(is_old) and after.inode not in self._known

    def is_moved(self, path: str, before: Entry, after: Entry) -> bool:
        """Return whether it is the very file that was elsewhere in the folder: a number is soon given to another."""
        is_old = self.is_old(path)
        return (before.size, before.changed) == (after.size, after.changed) if is_old is None else is_old

    def _changed(self, path: str, after: Entry) -> int:
        if not after.is_folder:
            return after.changed
        try:
            return os.lstat(os.path.join(self._mirror.folder, path)).st_mtime_ns
        except OSError:
            return 0
