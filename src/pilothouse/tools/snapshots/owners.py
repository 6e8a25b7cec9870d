"""Whose the files of a folder are: the person's own come before what commands made, where there is not room for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pilothouse.tools.snapshots.entries import Entry
from pilothouse.tools.snapshots.made import MadeRecord
from pilothouse.types import limits


class Owners:
    """Knows which files commands made, and which of the person's own are not kept for want of room."""

    def __init__(self, record: MadeRecord | None = None) -> None:
        self.made: set[str] = set()
        # What of it a process knew that is gone.
        self._record = record
        self._is_recalled = self._is_written = record is None
        self.missing: set[str] = set()
        # What was missing when nothing had been done yet: the person was told that.
        self._from_the_first: frozenset[str] | None = None

    def recall(self, entries: Mapping[str, Entry]) -> None:
        """Know what commands made before this process, once there is something to compare it with."""
        if self._record is not None and not self._is_recalled:
            self._is_recalled = True
            known = self._record.read().items()
            self.made.update(path for path, inode in known if path in entries and entries[path].inode == inode)
            self._is_written = len(self.made) == len(known)

    def keep(self, entries: Mapping[str, Entry]) -> None:
        """Write down what commands made, the large before the small where it is very much: that takes the room."""
        if self._record is not None and not self._is_written:
            self._is_written = True
            files = (path for path in self.made if (entry := entries.get(path)) and entry.is_file)
            most = sorted(files, key=lambda path: (-entries[path].size, path))[: limits.MADE_FILES]
            self._record.write({path: entries[path].inode for path in most})

    def begin(self, entries: Mapping[str, Entry]) -> None:
        """Take what the first look found; one that is begun anew knows what commands made before."""
        self.made.intersection_update(entries)
        # Nearly all are kept, and there may be very many.
        left_out = ((path, entry) for path, entry in entries.items() if entry.at < 0)
        self.missing = {path for path, entry in left_out if self._is_missing(path, entry)}
        if self._from_the_first is None:
            self._from_the_first = frozenset(self.missing)

    def sort(self, before: Mapping[str, Entry], now: Mapping[str, Entry | None], *, of_command: bool) -> None:
        """Tell what a command made from what is the person's: also what it only gave another name."""
        new = [path for path, after in now.items() if after is not None and path not in before]
        if not of_command or not new:
            return
        known = [(before[path], after) for path, after in now.items() if path in before and path not in self.made]
        moved = {was.inode for was, after in known if after is None or after.inode != was.inode}
        if any((after := now[path]) and after.names > 1 for path in new):
            moved.update(entry.inode for path, entry in before.items() if path not in self.made)
        made = {path for path in new if (after := now[path]) and after.inode not in moved}
        self._is_written = self._is_written and not made
        self.made |= made

    def note(self, path: str, after: Entry | None) -> None:
        """Take over what is at a path now."""
        if after is None and path in self.made:
            self.made.discard(path)
            self._is_written = False
        if after is not None and self._is_missing(path, after):
            self.missing.add(path)
        else:
            self.missing.discard(path)

    def _is_missing(self, path: str, entry: Entry) -> bool:
        is_left_out = entry.is_file and entry.at < 0 and entry.size <= limits.FILE_EDIT_BYTES
        return is_left_out and path not in self.made

    def lost(self) -> set[str]:
        """Return what is missing now and was not at the first look of all."""
        return self.missing - (self._from_the_first or frozenset())

    def wanted(self, entries: Mapping[str, Entry]) -> list[str]:
        """Return what is missing, the small before the large."""
        return sorted(self.missing, key=lambda path: (entries[path].size, path))

    def dispensable(self, entries: Mapping[str, Entry], needed: int) -> Iterator[str]:
        """Yield what commands made and is kept, the large before the small, until so much room is there."""
        kept = (path for path in self.made if (entry := entries.get(path)) and entry.is_file and entry.at >= 0)
        for path in sorted(kept, key=lambda path: (-entries[path].size, path)) if needed > 0 else ():
            if needed <= 0:
                return
            needed -= entries[path].size
            yield path
