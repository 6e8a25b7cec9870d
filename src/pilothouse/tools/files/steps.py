"""The steps that a change of files is made of.

Each is taken as a whole or not at all, in the working directory that is known by its identity, and knows what must be
kept before it is taken so that it can be undone.
"""

from __future__ import annotations

import os
import stat

import msgspec

from pilothouse.tools.files import atomic
from pilothouse.tools.files.contents import Snapshot, digest
from pilothouse.tools.files.places import Place
from pilothouse.tools.files.walk import Identity, open_root, parent_of, refusing
from pilothouse.types.changes import FOLDER


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """What a step changes, in the words of a kept change."""

    before: str | None = None
    after: str | None = None
    mode: int | None = None
    content: bytes | None = None
    moved_from: str = ""


class MakeFolder(msgspec.Struct, frozen=True):
    """A folder that was not there."""

    place: Place

    def kept(self) -> Before:
        """Return that there was nothing."""
        return Before(after=FOLDER)

    def take(self, known: Identity | None) -> None:
        """Make it; one that appeared in between is fine."""
        with open_root(self.place, known) as root:
            folder, _made = root.make(self.place.parts)
            folder.close()


class WriteFile(msgspec.Struct, frozen=True):
    """A file with a new content, or a new file."""

    place: Place
    before: Snapshot | None
    after: bytes
    # Of a new file; None for the usual one.
    mode: int | None = None

    def kept(self) -> Before:
        """Return the content that is replaced."""
        if self.before is None:
            return Before(after=digest(self.after))
        return Before(
            before=self.before.digest,
            after=digest(self.after),
            mode=stat.S_IFREG | self.before.mode,
            content=self.before.content,
        )

    def take(self, known: Identity | None) -> None:
        with parent_of(self.place, known) as folder:
            if self.before is None:
                atomic.write_new(folder, self.place.last, self.after, self.mode)
            else:
                atomic.write_over(folder, self.place.last, self.after, self.before)


class RemoveFile(msgspec.Struct, frozen=True):
    """A file that goes."""

    place: Place
    before: Snapshot

    def kept(self) -> Before:
        """Return the whole file."""
        mode = stat.S_IFREG | self.before.mode
        return Before(before=self.before.digest, mode=mode, content=self.before.content)

    def take(self, known: Identity | None) -> None:
        """Delete it."""
        with parent_of(self.place, known) as folder:
            atomic.remove(folder, self.place.last, self.before)


class RemoveLink(msgspec.Struct, frozen=True):
    """A link that goes; what it leads to stays."""

    place: Place
    target: str

    def kept(self) -> Before:
        """Return where it leads."""
        content = os.fsencode(self.target)
        return Before(before=digest(content), mode=stat.S_IFLNK | 0o777, content=content)

    def take(self, known: Identity | None) -> None:
        """Delete it."""
        with parent_of(self.place, known) as folder:
            found = folder.stat(self.place.last)
            if found is None or not stat.S_ISLNK(found.st_mode):
                raise atomic.changed_meanwhile(self.place.name)
            with refusing(self.place.name):
                os.unlink(self.place.last, dir_fd=folder.descriptor)


class RemoveFolder(msgspec.Struct, frozen=True):
    """An empty folder that goes."""

    place: Place
    mode: int

    def kept(self) -> Before:
        return Before(before=FOLDER, mode=stat.S_IFDIR | self.mode)

    def take(self, known: Identity | None) -> None:
        """Delete it; one that is not empty stays."""
        with parent_of(self.place, known) as folder, refusing(self.place.name):
            os.rmdir(self.place.last, dir_fd=folder.descriptor)


class Move(msgspec.Struct, frozen=True):
    """A file or folder under another name."""

    source: Place
    place: Place
    # The file as it is; None for a folder or a link.
    before: Snapshot | None

    def kept(self) -> Before:
        """Return where it was."""
        after = FOLDER if self.before is None else self.before.digest
        return Before(after=after, moved_from=self.source.path)

    def take(self, known: Identity | None) -> None:
        with parent_of(self.source, known) as old, parent_of(self.place, known) as new:
            if self.before is not None and not self.before.is_still(old.stat(self.source.last)):
                raise atomic.changed_meanwhile(self.source.name)
            atomic.move(old, self.source.last, new, self.place.last)


class MakeLink(msgspec.Struct, frozen=True):
    """A link that was not there. Commands make them; no call of a tool does."""

    place: Place
    target: str

    def kept(self) -> Before:
        """Return that there was nothing, and where it leads."""
        return Before(after=digest(os.fsencode(self.target)))


class MakeTree(msgspec.Struct, frozen=True):
    """A folder with a great deal in it, or a large file, that a command made: taken back as a whole or not at all."""

    place: Place
    stamp: str
    is_folder: bool

    def kept(self) -> Before:
        """Return that there was nothing, and what it is known by."""
        return Before(after=self.stamp)


class ChangeMode(msgspec.Struct, frozen=True):
    """A file or a folder that a command gave other rights."""

    place: Place
    before: int
    after: int
    # Of a file.
    content: bytes | None

    def kept(self) -> Before:
        """Return the rights that it had; its content is the same."""
        known = FOLDER if self.content is None else digest(self.content)
        return Before(before=known, after=known, mode=self.before)


Step = MakeFolder | WriteFile | RemoveFile | RemoveLink | RemoveFolder | Move
# What a command did can only be seen afterwards: no step of that is taken by us.
Change = Step | MakeLink | MakeTree | ChangeMode
