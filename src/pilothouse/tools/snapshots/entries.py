"""One look at what is in a folder: by descriptors, no link followed, nothing opened but files and folders."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

import msgspec

from pilothouse.tools.files.contents import read_up_to
from pilothouse.tools.files.places import is_text
from pilothouse.tools.snapshots.pack import Pack
from pilothouse.types import limits

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# The clock of a file system is coarse: what was changed this shortly before it was read may be changed again unseen.
_COARSE = 20_000_000
# No file has this as its time: it is read again at the next look.
_UNSETTLED = -1
# Why nobody looks into a folder.
_ELSEWHERE = "another file system"
_CLOSED = "it cannot be listed"
_TOO_DEEP = "too many folders deep"
NOT_TEXT = "its name is not UTF-8"


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A file, a folder, a link, or a pipe or the like, as it was seen."""

    mode: int
    size: int
    # When its content and its facts were changed, and which file it is: others in its place have other numbers.
    changed: int
    touched: int
    inode: int
    # How many names it has.
    names: int = 1
    # Where its content is kept; -1 where it is not, as for folders.
    at: int = -1

    @property
    def is_folder(self) -> bool:
        """Return whether it is a folder."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        """Return whether it is a regular file."""
        return stat.S_ISREG(self.mode)

    def is_still(self, now: Entry) -> bool:
        """Return whether nothing about it has changed, as far as can be told without reading it."""
        return self.facts == now.facts and self.touched == now.touched

    @property
    def facts(self) -> tuple[int, int, int, int]:
        """Return what stays the same under another name."""
        return self.mode, self.size, self.changed, self.inode

    @property
    def is_link(self) -> bool:
        """Return whether it is a symbolic link."""
        return stat.S_ISLNK(self.mode)

    @property
    def is_pipe(self) -> bool:
        """Return whether whoever opens it waits until someone writes to it."""
        return stat.S_ISFIFO(self.mode)

    @property
    def is_special(self) -> bool:
        """Return whether it is a pipe, a socket or a device: nothing in it can be put back."""
        return not (self.is_folder or has_content(self.mode))


class Level(NamedTuple):
    """One folder, open while it is looked at."""

    descriptor: int
    # The way from the top, with a slash at the end; empty for the top itself.
    prefix: str
    # What is in it, folders apart.
    others: list[os.DirEntry[str]]
    folders: list[str]


def levels(descriptor: int, prefix: str, is_apart: Callable[[str], bool], unseen: dict[str, str]) -> Iterator[Level]:
    """Yield an open folder and those below it on the same file system; say of those that are passed over why."""
    others: list[os.DirEntry[str]] = []
    folders: list[str] = []
    with os.scandir(descriptor) as entries:
        for each in islice(entries, limits.SNAPSHOT_ENTRIES + 1):
            if each.is_dir(follow_symlinks=False):
                folders.append(each.name)
            else:
                others.append(each)
    yield Level(descriptor, prefix, others, folders)
    for name in folders:
        if not is_apart(prefix + name):
            yield from levels_below(descriptor, prefix + name, is_apart, unseen)


def levels_below(parent: int, path: str, is_apart: Callable[[str], bool], unseen: dict[str, str]) -> Iterator[Level]:
    """Yield the same for a folder in an open one, if it can be looked into."""
    inside = f"{path}/"
    if path.count("/") >= limits.TREE_DEPTH:
        unseen[inside] = _TOO_DEEP
        return
    try:
        descriptor = os.open(os.path.basename(path), _FOLDER_FLAGS, dir_fd=parent)
    except OSError as error:
        _pass_over(unseen, inside, error)
        return
    try:
        # Asked by a name in it: who may not do that cannot look at anything there.
        if os.stat(".", dir_fd=descriptor).st_dev == os.fstat(parent).st_dev:
            yield from levels(descriptor, inside, is_apart, unseen)
        else:
            unseen[inside] = _ELSEWHERE
    except OSError as error:
        _pass_over(unseen, inside, error)
    finally:
        os.close(descriptor)


def names_below(descriptor: int, prefix: str, is_apart: Callable[[str], bool], until: float) -> Iterator[str]:
    """Yield the ways to all that is no folder below an open one, by their names alone, as long as there is time."""
    folders: list[str] = []
    with os.scandir(descriptor) as entries:
        for each in entries:
            if each.is_dir(follow_symlinks=False):
                folders.append(each.name)
            else:
                yield prefix + each.name
    for name in folders:
        path = prefix + name
        if is_apart(path) or path.count("/") >= limits.TREE_DEPTH or time.monotonic() > until:
            continue
        try:
            below = os.open(name, _FOLDER_FLAGS, dir_fd=descriptor)
        except OSError:
            continue
        try:
            if os.fstat(below).st_dev == os.fstat(descriptor).st_dev:
                yield from names_below(below, f"{path}/", is_apart, until)
        finally:
            os.close(below)


def _pass_over(unseen: dict[str, str], inside: str, error: OSError) -> None:
    """Say that a folder cannot be looked into; one that went away meanwhile needs no word."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        unseen[inside] = _CLOSED


def entry_of(found: os.stat_result, at: int = -1) -> Entry:
    """Return what is known of something; of a folder only what does not change with what is in it."""
    if stat.S_ISDIR(found.st_mode):
        return Entry(found.st_mode, 0, 0, 0, found.st_ino)
    return Entry(found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_nlink, at)


def stat_of(folder: int, name: str) -> os.stat_result | None:
    """Return what a name in an open folder stands for, a link for itself; None when there is nothing."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def seen_at(folder: int, name: str) -> Entry | None:
    """Return what a name in an open folder stands for without what is in it; None when there is nothing."""
    found = stat_of(folder, name)
    return entry_of(found) if found is not None else None


@contextmanager
def opened(top: int, way: str) -> Iterator[int | None]:
    """Open a folder further down, no link followed; None when it is not there."""
    at = os.dup(top)
    try:
        for name in way.split("/") if way else ():
            below = os.open(name, _FOLDER_FLAGS, dir_fd=at)
            os.close(at)
            at = below
    except OSError:
        os.close(at)
        yield None
        return
    try:
        yield at
    finally:
        os.close(at)


def outermost(paths: Iterable[str]) -> list[str]:
    """Return paths without those that lie in a folder among them; a folder's ends in a slash."""
    kept: list[str] = []
    for path in sorted(paths, key=lambda path: path.replace("/", "\0")):
        if not kept or not kept[-1].endswith("/") or not path.startswith(kept[-1]):
            kept.append(path)
    return kept


def written(path: str) -> str:
    """Return a path as it can be written down, up to the first name that is not UTF-8."""
    parts = path.split("/")
    last = next((number for number, part in enumerate(parts) if not is_text(part)), len(parts) - 1)
    said = "/".join(parts[: last + 1]) + ("/" if last + 1 < len(parts) else "")
    return said.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def has_content(mode: int) -> bool:
    """Return whether something has a content that can be kept: pipes, sockets and devices have none."""
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def read(folder: int, name: str, now: int, pack: Pack) -> Entry | None:
    """Return a file or a link in an open folder, its content kept; None for what is too large or cannot be read.

    What is being written right now is taken as it is, and looked at again the next time. Raise OSError when there is
    no room to keep it.
    """
    try:
        descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
    except OSError:
        return _link(folder, name, pack)
    try:
        found = os.fstat(descriptor)
        size, touched = found.st_size, found.st_ctime_ns
        if not stat.S_ISREG(found.st_mode) or size > limits.FILE_EDIT_BYTES:
            return None
        at = pack.take(descriptor, size)
        if at < 0:
            data = _at_work_on(descriptor)
            if data is None:
                return None
            size, touched, at = len(data), _UNSETTLED, pack.add(data)
    finally:
        os.close(descriptor)
    return Entry(found.st_mode, size, found.st_mtime_ns, settled(touched, now), found.st_ino, found.st_nlink, at)


def settled(touched: int, now: int) -> int:
    """Return when a file was changed last, as far as that tells whether it was changed since."""
    return touched if touched <= now - _COARSE else _UNSETTLED


def _at_work_on(descriptor: int) -> bytes | None:
    """Return what is in a file that someone writes to; None if it cannot be read, or became too large."""
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        data = read_up_to(descriptor, limits.FILE_EDIT_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= limits.FILE_EDIT_BYTES else None


def _link(folder: int, name: str, pack: Pack) -> Entry | None:
    found = stat_of(folder, name)
    if found is None or not stat.S_ISLNK(found.st_mode):
        return None
    try:
        target = os.fsencode(os.readlink(name, dir_fd=folder))
    except OSError:
        return None
    return Entry(found.st_mode, len(target), found.st_mtime_ns, found.st_ctime_ns, found.st_ino, 1, pack.add(target))
