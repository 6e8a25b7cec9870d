"""Folders and files by descriptors: every step without following a link, every file a regular one.

What was checked is what is used: a folder, once open, stays the same folder whatever becomes of its name.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from pilothouse.tools.files.places import PathRefused, Place, components, odd_name, resolved

Identity = tuple[int, int]

_STEP = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Passing through a folder needs no right to list it.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | _STEP
# What was followed is no link any more when the way is walked.
_FOLLOWED = "only links to something in the working directory are followed"
# A FIFO must not make us wait, nor a terminal become ours.
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Folder:
    """An open folder. Its descriptor is closed at the end of a `with`."""

    def __init__(self, descriptor: int, path: str) -> None:
        self.descriptor = descriptor
        # What it was called when it was opened, for sentences only.
        self.path = path

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the descriptor."""
        os.close(self.descriptor)

    @property
    def identity(self) -> Identity:
        """Return its device and inode."""
        return identity(os.fstat(self.descriptor))

    def folder(self, name: str) -> Folder:
        """Open a folder in this one."""
        path = os.path.join(self.path, name)
        try:
            return Folder(os.open(name, _PASS, dir_fd=self.descriptor), path)
        except OSError as error:
            raise self._why(name, error, "folder") from None

    def descend(self, parts: tuple[str, ...]) -> Folder:
        """Open a folder further down, one component at a time."""
        at = Folder(os.dup(self.descriptor), self.path)
        for part in parts:
            with at:
                at = at.folder(part)
        return at

    def make(self, parts: tuple[str, ...]) -> tuple[Folder, tuple[str, ...]]:
        """Open a folder further down; return also the paths of the folders on the way that had to be made."""
        at, made = Folder(os.dup(self.descriptor), self.path), []
        for part in parts:
            with at:
                if at.stat(part) is None:
                    with refusing(os.path.join(at.path, part)):
                        os.mkdir(part, 0o777, dir_fd=at.descriptor)
                    made.append(os.path.join(at.path, part))
                at = at.folder(part)
        return at, tuple(made)

    def stat(self, name: str) -> os.stat_result | None:
        """Return what a name in this folder stands for, a link for itself; None when there is nothing."""
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._why(name, error, "file") from None

    def open(self, name: str) -> int:
        """Return a descriptor for reading a regular file; nothing else is opened at all."""
        found = self.stat(name)
        if found is None or not stat.S_ISREG(found.st_mode):
            raise self._why(name, FileNotFoundError(errno.ENOENT, ""), "file")
        try:
            descriptor = os.open(name, os.O_RDONLY | _FILE, dir_fd=self.descriptor)
        except OSError as error:
            raise self._why(name, error, "file") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise PathRefused(f"{os.path.join(self.path, name)} changed while it was opened.", "CONFLICT")
        return descriptor

    @contextmanager
    def listable(self) -> Iterator[int]:
        """Open the same folder in a way that it can be listed and made durable."""
        try:
            descriptor = os.open(".", os.O_RDONLY | _STEP, dir_fd=self.descriptor)
        except OSError as error:
            raise refusal(self.path, error) from None
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def scan(self) -> Iterator[Iterator[os.DirEntry[str]]]:
        """List the folder; an entry's `stat(follow_symlinks=False)` is by descriptor too."""
        with self.listable() as descriptor, os.scandir(descriptor) as entries:
            yield entries

    def _why(self, name: str, error: OSError, wanted: str) -> PathRefused:
        """Say why a name could not be opened, by what it stands for now."""
        path = os.path.join(self.path, name)
        try:
            found = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except OSError as missing:
            return refusal(path, missing)
        if stat.S_ISLNK(found.st_mode):
            return PathRefused(f"{path} is a link{_leads(path)}; {_FOLLOWED}.", "LINK")
        if stat.S_ISDIR(found.st_mode) and wanted == "file":
            return PathRefused(f"{path} is a folder, not a file.", "NOT_A_FILE")
        if wanted == "folder":
            return PathRefused(f"{path} is not a folder.", "NOT_A_FOLDER")
        if not stat.S_ISREG(found.st_mode):
            return PathRefused(f"{path} is a pipe, a socket or a device; only regular files are used.", "NOT_A_FILE")
        return refusal(path, error)


def _leads(path: str) -> str:
    try:
        return f" to {resolved(path)}"
    except PathRefused:
        return ""


def identity(found: os.stat_result) -> Identity:
    """Return what tells a file from every other, whatever it is called."""
    return found.st_dev, found.st_ino


def open_folder(path: str) -> Folder:
    """Open a folder by an absolute path that has no links in it, from `/` down."""
    with Folder(os.open("/", _PASS), "/") as top:
        return top.descend(components(path))


def open_root(place: Place, known: Identity | None = None) -> Folder:
    """Open the folder that a place is reached from; refuse when it is not the one that was looked at."""
    root = open_folder(place.root)
    if known is not None and place.inside and root.identity != known:
        root.close()
        raise PathRefused("The working directory was replaced by another one since the call was allowed.", "CONFLICT")
    return root


@contextmanager
def parent_of(place: Place, known: Identity | None = None) -> Iterator[Folder]:
    """Open the folder that a file is in."""
    if not place.parts:
        raise PathRefused(f"{place.path} is a folder, not a file.", "NOT_A_FILE")
    with open_root(place, known) as root, root.descend(place.parts[:-1]) as folder:
        yield folder


def look(place: Place) -> os.stat_result | None:
    """Return what is at a place, without following links; None when there is nothing, or no folder to hold it."""
    try:
        with open_root(place) as root:
            if not place.parts:
                return os.fstat(root.descriptor)
            with root.descend(place.parts[:-1]) as folder:
                return folder.stat(place.last)
    except PathRefused as refused:
        if refused.code == "NOT_FOUND":
            return None
        raise


def check_names(place: Place) -> None:
    """Refuse names that other systems read differently, unless exactly that name is there already."""
    for depth, part in enumerate(place.parts, 1):
        why = odd_name(part)
        if why and look(Place(place.root, place.parts[:depth], place.inside)) is None:
            raise PathRefused(f"The name {part!r} {why}.")


def refusal(path: str, error: OSError) -> PathRefused:
    """Return the sentence for what the system said about a path."""
    unknown = ("FILE_FAILED", f"cannot be used: {(error.strerror or 'no reason given').lower()}")
    code, why = _REASONS.get(error.errno or 0, unknown)
    return PathRefused(f"{path} {why}.", code)


@contextmanager
def refusing(path: str) -> Iterator[None]:
    """Turn what the system says about a path into a sentence."""
    try:
        yield
    except OSError as error:
        raise refusal(path, error) from None


_REASONS: dict[int, tuple[str, str]] = {
    errno.ENOENT: ("NOT_FOUND", "does not exist"),
    errno.ENOTDIR: ("NOT_A_FOLDER", "is not a folder"),
    errno.EISDIR: ("NOT_A_FILE", "is a folder, not a file"),
    errno.ELOOP: ("LINK", f"is a link; {_FOLLOWED}"),
    errno.EACCES: ("NOT_PERMITTED", "is not yours to use: the system refuses"),
    errno.EPERM: ("NOT_PERMITTED", "is not yours to use: the system refuses"),
    errno.EROFS: ("READ_ONLY", "is on a file system that can only be read"),
    errno.EEXIST: ("EXISTS", "exists already"),
    errno.ENOTEMPTY: ("NOT_EMPTY", "is a folder that is not empty"),
    errno.ENAMETOOLONG: ("PATH_REFUSED", "has a name that is longer than the file system takes"),
    errno.ENOSPC: ("DISK_FULL", "was left as it is: the disk is full"),
    errno.EDQUOT: ("DISK_FULL", "was left as it is: your quota on this disk is used up"),
    errno.EFBIG: ("TOO_LARGE", "would be larger than the file system takes"),
    errno.EXDEV: ("OTHER_FILE_SYSTEM", "is on another file system"),
    errno.EMFILE: ("BUSY", "cannot be opened now: too many files are open"),
    errno.ETXTBSY: ("BUSY", "is a program that is running"),
}
