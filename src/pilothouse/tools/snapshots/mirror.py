"""A folder as it was at the last look, contents and all, and what is different at the next."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from pilothouse.tools.files.places import PathRefused, is_text
from pilothouse.tools.files.walk import Identity, open_folder
from pilothouse.tools.search.watching import Watch, watch_is_there
from pilothouse.tools.snapshots.births import clock_of_files
from pilothouse.tools.snapshots.choosing import worth_most
from pilothouse.tools.snapshots.entries import (
    NOT_TEXT,
    Entry,
    Level,
    entry_of,
    has_content,
    levels,
    levels_below,
    names_below,
    opened,
    outermost,
    read,
    seen_at,
    settled,
    stat_of,
    written,
)
from pilothouse.tools.snapshots.made import MadeRecord
from pilothouse.tools.snapshots.owners import Owners
from pilothouse.tools.snapshots.pack import Pack
from pilothouse.tools.snapshots.second import ROOM, Facts, Files, Second
from pilothouse.tools.snapshots.second_process import AT_ONCE
from pilothouse.types import limits


class Difference(NamedTuple):
    """What was at a path at one look and at the next; None where there was nothing."""

    path: str
    before: Entry | None
    after: Entry | None


class TooMany(Exception):
    """There is more in the folder than is looked at before a command."""


class Mirror:
    """Looks at a folder, one look at a time; what it knows is as old as the last one."""

    def __init__(
        self,
        folder: str,
        cache: Path,
        apart: str = "",
        *,
        watches: bool = True,
        made: MadeRecord | None = None,
        standing_out: Callable[[Sequence[str]], Iterable[str]] = lambda _paths: (),
    ) -> None:
        self.folder = folder
        # Which of very many paths are looked at in any case.
        self._standing_out = standing_out
        self._cache = cache
        # The way to a place in the folder that is nobody's business: our own data.
        self._apart = apart
        self._watches = watches and watch_is_there()
        self._watch: Watch | None = None
        self._pack: Pack | None = None
        self._entries: dict[str, Entry] = {}
        # Folders that nobody looks into, and why; and whether there were any since the first look.
        self.unseen: dict[str, str] = {}
        self.is_blind = False
        # The inodes of files whose names no change can be written down for: they are not UTF-8.
        self.unnamed: dict[str, int] = {}
        self._room = 0
        # What is kept, and what of it is left out for want of room: of each, whose it is.
        self._whose = Owners(made)
        # Whether this look is at what a command did.
        self._of_command = False
        # Whether the last look found more than is looked at; it tells all about what was known before.
        self.is_cut = False
        # Whether the first look is over.
        self._is_known = False
        # Which folder it was: another one may have its name now.
        self._top: Identity | None = None
        # When this look began, and when it must be over.
        self._now = 0
        self._until = 0.0
        # When the last look before a command ended, by the clock of files: what the command makes is younger.
        self.since = 0

    @property
    def is_begun(self) -> bool:
        """Return whether there was a look that the next one is compared with."""
        return self._pack is not None

    def close(self) -> None:
        """Forget everything; the next look is the first one."""
        for each in (self._pack, self._watch):
            if each is not None:
                each.close()
        self._pack = self._watch = self._top = None
        self._is_known = False
        self._entries, self.unnamed, self.unseen, self.is_blind = {}, {}, {}, False

    def refresh(self) -> None:
        """Look at the folder, whatever is different: this is how it is before a command."""
        if self._pack is not None and self._pack.size > limits.SNAPSHOT_PACK_BYTES:
            self.close()
        self.look(of_command=False)
        if self.is_cut:
            self.close()
            raise TooMany
        self.since = clock_of_files()

    def look(self, *, of_command: bool = True) -> list[Difference]:
        """Return what is different from the last look, in the order of paths; the first one finds nothing."""
        self._of_command = of_command
        self._now, self._until = time.time_ns(), time.monotonic() + limits.SNAPSHOT_TIME
        self.is_cut = False
        try:
            found = self._found()
        except BaseException:
            # What is half known is not known.
            self.close()
            raise
        if of_command:
            self._whose.keep(self._entries)
        return found

    def _found(self) -> list[Difference]:
        try:
            with open_folder(self.folder) as top, top.listable() as descriptor:
                was, self._top = self._top, top.identity
                if self._pack is None:
                    return self._first(descriptor)
                found = self._again(descriptor) if was == self._top else self._all_again(descriptor)
                return self._with_own(descriptor, found) if self._whose.missing else found
        except PathRefused as refused:
            if self._pack is None or refused.code != "NOT_FOUND":
                raise
            # All of it is gone, which is what there is to undo.
            self.unseen, self._top = {}, None
            return self._compared(dict.fromkeys(self._entries))

    def content(self, entry: Entry) -> bytes:
        """Return what is kept of a file or a link."""
        return self._kept.read(entry.at, entry.size)

    def at(self, path: str) -> Entry | None:
        """Return what is at a path as it was last seen."""
        return self._entries.get(path)

    def left_out(self) -> dict[str, int]:
        """Return the files whose content is not kept, with their sizes."""
        every = self._entries.items()
        return {path: entry.size for path, entry in every if entry.at < 0 and has_content(entry.mode)}

    def lost(self) -> dict[str, int]:
        """Return what of the person's own cannot be kept for want of room, and could be at the first look of all."""
        return {path: self._entries[path].size for path in self._whose.lost() if path in self._entries}

    def not_seen(self) -> dict[str, str]:
        """Return what nobody looks into or could write down, and why."""
        odd = (path for path in self.unnamed if not any(path.startswith(each) for each in self.unseen))
        return {written(path): why for path, why in (*self.unseen.items(), *((path, NOT_TEXT) for path in odd))}

    def has(self, path: str) -> bool:
        """Return whether something is at a path now."""
        return path in self._entries

    def inodes(self, without: Container[str]) -> set[int]:
        """Return which files and folders there are, some paths apart."""
        return {entry.inode for path, entry in self._entries.items() if path not in without}

    def below(self, path: str) -> dict[str, Entry]:
        """Return what is in a folder now, all the way down."""
        inside = f"{path}/"
        return {each: entry for each, entry in self._entries.items() if each.startswith(inside)}

    @property
    def _kept(self) -> Pack:
        if self._pack is None:
            raise RuntimeError("nobody has looked yet")
        return self._pack

    # --- the first look, and what is kept ---

    def _first(self, top: int) -> list[Difference]:
        self._pack, self._room = Pack(self._cache), limits.SNAPSHOT_BYTES
        self._begin_watching()
        with contextlib.closing(Second(self._pack.beside)) as second:
            for level in self._levels(top):
                self._first_at(level, second)
                self._take_over(top, second.answered())
            self._take_over(top, second.last(self._until))
            for files in second.left():
                self._read_in(top, files)
        if self.is_cut:
            raise TooMany
        self._whose.recall(self._entries)
        if self._room <= 0:
            self._choose(top)
        self._kept.flush()
        self._is_known = True
        self._whose.begin(self._entries)
        return []

    def _first_at(self, level: Level, second: Second) -> None:
        """Take what is in a folder; files are read here or by the second process, whoever has time."""
        for name, path in self._folders(level):
            if (found := stat_of(level.descriptor, name)) is not None:
                self._entries[path] = entry_of(found)
        names = []
        for each, path in self._others(level):
            if each.is_file(follow_symlinks=False):
                names.append(each.name)
                continue
            # Nobody opens a pipe or a device to look at it.
            look = self._read if each.is_symlink() else seen_at
            if (entry := look(level.descriptor, each.name)) is not None:
                self._entries[path] = entry
        for at in range(0, len(names), AT_ONCE):
            files = Files(level.prefix, names[at : at + AT_ONCE])
            if self._room <= ROOM or not second.takes(level.descriptor, files):
                self._read_files(level.descriptor, files)

    def _read_files(self, folder: int, files: Files) -> None:
        for name in files.names:
            if (entry := self._read(folder, name)) is not None:
                self._entries[files.prefix + name] = entry

    def _read_in(self, top: int, files: Files) -> None:
        with opened(top, files.prefix.rstrip("/")) as folder:
            if folder is not None:
                self._read_files(folder, files)

    def _take_over(self, top: int, answers: Iterable[tuple[Files, list[Facts | None]]]) -> None:
        """Take what the second process read; what it left to us is read now."""
        for files, answer in answers:
            for name, facts in zip(files.names, answer, strict=True):
                if facts is not None:
                    self._room -= facts.size
                    mode, size, changed, touched, inode, names, at = facts
                    at = self._kept.from_beside(at, size)
                    entry = Entry(mode, size, changed, settled(touched, self._now), inode, names, at)
                    self._entries[files.prefix + name] = entry
            if rest := [name for name, facts in zip(files.names, answer, strict=True) if facts is None]:
                self._read_in(top, Files(files.prefix, rest))

    def _choose(self, top: int) -> None:
        """Keep what is worth most, because there is more than is kept."""
        sizes = {path: entry.size for path, entry in self._entries.items() if has_content(entry.mode)}
        wanted, self._room = worth_most(top, sizes, self._whose.made), limits.SNAPSHOT_BYTES
        for path, entry in list(self._entries.items()):
            if entry.at >= 0 and path in wanted:
                self._room -= entry.size
            elif entry.at >= 0:
                self._entries[path] = msgspec.structs.replace(entry, at=-1)
        for path in wanted:
            if self._entries[path].at < 0:
                parent, name = os.path.split(path)
                with opened(top, parent) as folder:
                    found = self._read(folder, name) if folder is not None else None
                self._entries[path] = found or self._entries[path]

    def _with_own(self, top: int, found: list[Difference]) -> list[Difference]:
        """Keep what there was no room for: what is the person's own comes before what commands made."""
        wanted = self._whose.wanted(self._entries)
        needed = sum(self._entries[path].size for path in wanted)
        for path in self._whose.dispensable(self._entries, needed - self._room):
            self._room += self._entries[path].size
            self._entries[path] = msgspec.structs.replace(self._entries[path], at=-1)
        late: dict[str, Entry] = {}
        for path in wanted:
            parent, name = os.path.split(path)
            with opened(top, parent) as folder:
                fits = folder is not None and self._entries[path].size <= self._room
                entry = self._read(folder, name) if folder is not None and fits else None
            if entry is not None and entry.at >= 0:
                late[path] = self._entries[path] = entry
                self._whose.missing.discard(path)
        return [each._replace(after=late.get(each.path, each.after)) for each in found]

    def _read(self, folder: int, name: str) -> Entry | None:
        """Return what is there, its content kept where there is room and time."""
        if self._room > 0 and time.monotonic() < self._until:
            try:
                entry = read(folder, name, self._now, self._kept)
            except OSError:
                if not self._is_known:
                    raise
                # The disk is full: what was before is kept, and what is now is known by its facts.
                self._room, entry = 0, None
            if entry is not None:
                self._room -= entry.size
                return entry
        found = stat_of(folder, name)
        if found is not None and stat.S_ISLNK(found.st_mode):
            # Where a link leads is short: there is room for that.
            with contextlib.suppress(OSError):
                return read(folder, name, self._now, self._kept)
        return entry_of(found) if found is not None else None

    # --- every further look ---

    def _again(self, top: int) -> list[Difference]:
        told = self._watch.changes() if self._watch is not None else None
        if self._watch is None or told is None or told.lost or not self._watch.is_watching(""):
            return self._all_again(top)
        # A file that has two names may be changed by the other one, of which nobody tells.
        linked = {path for path, entry in self._entries.items() if entry.names > 1}
        at: dict[str, Entry | None] = {}
        for path in outermost({*told.paths, *linked}):
            self._add_below(top, path, at)
        gone = {path for path, entry in at.items() if entry is None or not entry.is_folder}
        folders = tuple(f"{path}/" for path in gone if (known := self._entries.get(path)) and known.is_folder)
        lost = (path for path in self._entries if path.startswith(folders)) if folders else ()
        for each in [each for each in self.unseen if each.startswith(folders)] if folders else ():
            del self.unseen[each]
        return self._compared(self._with_passed_over(top, {**dict.fromkeys(lost), **at}))

    def _all_again(self, top: int) -> list[Difference]:
        """Go through everything."""
        self._begin_watching()
        self.unseen = {}
        now = {path: entry for level in self._levels(top) for path, entry in self._of_level(level)}
        return self._compared(self._with_passed_over(top, {**dict.fromkeys(self._entries), **now}))

    def _with_passed_over(self, top: int, at: dict[str, Entry | None]) -> dict[str, Entry | None]:
        """Look by its name for what was known, or stands out, and was not come to, where a look was cut."""
        if not self.is_cut:
            return at
        every = list(islice(names_below(top, "", self._is_apart, self._until), limits.SNAPSHOT_NAMES))
        out = [path for path in self._standing_out(every) if path not in at and is_text(path)]
        for path in [*(path for path, entry in at.items() if entry is None), *out]:
            parent, name = os.path.split(path)
            with opened(top, parent) as folder:
                found = stat_of(folder, name) if folder is not None else None
                if folder is not None and found is not None:
                    at[path] = self._current(folder, name, path, found)
        return at

    def _add_below(self, top: int, told: str, at: dict[str, Entry | None]) -> None:
        """Add what is at a path now, and everything below it where something happened to a folder."""
        path = told.rstrip("/")
        if self._is_apart(path):
            return
        parent, name = os.path.split(path)
        with opened(top, parent) as folder:
            found = stat_of(folder, name) if folder is not None else None
            if folder is None or found is None:
                if is_text(path):
                    at[path] = None
                return
            if not is_text(path):
                self.unnamed[path] = found.st_ino
            else:
                at[path] = self._current(folder, name, path, found)
            if not told.endswith("/"):
                return
            if path in self._entries:
                at.update(dict.fromkeys(self.below(path)))
            for each in [each for each in self.unseen if each.startswith(told)]:
                del self.unseen[each]
            for level in self._followed(levels_below(folder, path, self._is_apart, self.unseen)):
                at.update(self._of_level(level))

    def _of_level(self, level: Level) -> Iterator[tuple[str, Entry]]:
        for name, path in self._folders(level):
            if (found := stat_of(level.descriptor, name)) is not None:
                yield path, entry_of(found)
        for each, path in self._others(level):
            with contextlib.suppress(OSError):
                entry = self._current(level.descriptor, each.name, path, each.stat(follow_symlinks=False))
                if entry is not None:
                    yield path, entry

    def _current(self, folder: int, name: str, path: str, found: os.stat_result) -> Entry | None:
        """Return what is at a path: as it is known if nothing about it changed, else read."""
        known, now = self._entries.get(path), entry_of(found)
        if now.is_folder or now.is_special:
            return now
        return known if known is not None and known.is_still(now) else self._read(folder, name)

    def _compared(self, now: Mapping[str, Entry | None]) -> list[Difference]:
        """Take over what is there now; return what is different."""
        found = []
        unseen = tuple(self.unseen)
        self._whose.sort(self._entries, now, of_command=self._of_command)
        for path, after in now.items():
            before = self._entries.get(path)
            if before is after or (after is None and path.startswith(unseen)):
                # The same, or where nobody can look any more.
                continue
            if self._differ(before, after):
                found.append(Difference(path, before, after))
            if before is not None and before.at >= 0:
                self._room += before.size
            self._whose.note(path, after)
            if after is None:
                del self._entries[path]
            else:
                self._entries[path] = after
        return sorted(found)

    def _differ(self, before: Entry | None, after: Entry | None) -> bool:
        if before is None or after is None or before.mode != after.mode:
            return True
        if before.is_folder:
            return False
        if before.at < 0 or after.at < 0:
            return not before.is_still(after)
        return before.size != after.size or self.content(before) != self.content(after)

    # --- both ---

    def _levels(self, top: int) -> Iterator[Level]:
        return self._followed(levels(top, "", self._is_apart, self.unseen))

    def _followed(self, found: Iterator[Level]) -> Iterator[Level]:
        seen = 0
        for level in found:
            seen += len(level.others) + len(level.folders)
            if seen > limits.SNAPSHOT_ENTRIES:
                self.is_cut = True
                return
            self._follow(level)
            yield level
        self.is_blind = self.is_blind or bool(self.unseen)

    def _follow(self, level: Level) -> None:
        if self._watch is None:
            return
        try:
            self._watch.add(level.descriptor, level.prefix)
        except OSError:
            # The system has no room for more; every look goes through all of the folder then.
            self._watch.close()
            self._watch, self._watches = None, False

    def _begin_watching(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = None
        if self._watches:
            with contextlib.suppress(OSError):
                self._watch = Watch()

    def _folders(self, level: Level) -> Iterator[tuple[str, str]]:
        for name in level.folders:
            if is_text(path := level.prefix + name) and not self._is_apart(path):
                yield name, path

    def _others(self, level: Level) -> Iterator[tuple[os.DirEntry[str], str]]:
        prefix = level.prefix
        for each in level.others:
            path = prefix + each.name
            # The second word is the same as the first for most, and takes longer.
            if not (path.isascii() or is_text(path)):
                self.unnamed[path] = each.inode()
            else:
                yield each, path

    def _is_apart(self, path: str) -> bool:
        return bool(self._apart) and path == self._apart
